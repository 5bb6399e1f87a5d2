package podsync

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
)

// The reasons for which a container waits (pkg/kubelet/images/types.go,
// pkg/kubelet/container/sync_result.go, pkg/kubelet/kuberuntime).
const (
	reasonCrashLoop           = "CrashLoopBackOff"
	reasonImagePullBackOff    = "ImagePullBackOff"
	reasonErrImagePull        = "ErrImagePull"
	reasonErrNeverPull        = "ErrImageNeverPull"
	reasonRegistryUnavailable = "RegistryUnavailable"
	reasonSignatureInvalid    = "SignatureValidationFailed"
	reasonImageInspect        = "ImageInspectError"
	reasonInvalidImage        = "InvalidImageName"
	reasonConfig              = "CreateContainerConfigError"
	reasonCreate              = "CreateContainerError"
	reasonRun                 = "RunContainerError"
	reasonPostStart           = "PostStartHookError"
)

// StartError is a container that could not be started.
type StartError struct {
	Container string
	// Reason and Message are what the container's status shows it waiting for.
	Reason, Message string
	BackOff         BackOff
	err             error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("start container %q: %s: %s", e.Container, e.Reason, e.Message)
}

func (e *StartError) Unwrap() error { return e.err }

// waiting returns why the container waits now.
func (e *StartError) waiting() event.ContainerWait {
	return event.ContainerWait{Reason: e.Reason, Message: e.Message, RetryAt: e.BackOff.RetryAt}
}

// Layer returns the layer that the reason belongs to.
func (e *StartError) Layer() event.Layer {
	switch e.Reason {
	case reasonCrashLoop, reasonImagePullBackOff:
		return event.LayerBackOff
	case reasonErrImagePull, reasonErrNeverPull, reasonRegistryUnavailable, reasonSignatureInvalid, reasonImageInspect, reasonInvalidImage:
		return event.LayerImage
	case reasonPostStart:
		return event.LayerHook
	case reasonConfig:
		return event.LayerConfig
	}
	return event.LayerContainer
}

// RetryAt returns the end of the back-off, if there is one.
func (e *StartError) RetryAt() (time.Time, bool) {
	return e.BackOff.RetryAt, !e.BackOff.RetryAt.IsZero()
}

// retryUntimed is how soon the worker tries again after an error that names
// no time: see Requeueing in docs/worker.md.
const retryUntimed = 10 * time.Second

// SyncError is all that went wrong in one sync.
type SyncError struct {
	errs []error
	at   time.Time
}

// joinErrors makes one error of many, nil of none.
func joinErrors(errs []error, now time.Time) error {
	if len(errs) == 0 {
		return nil
	}
	return &SyncError{errs: errs, at: now}
}

func (e *SyncError) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *SyncError) Unwrap() []error { return e.errs }

// RetryAt returns when the first of the errors may be tried again. If all lack a
// time, so has it; if some do, those do not wait for the others.
func (e *SyncError) RetryAt() (time.Time, bool) {
	first, timed := e.at.Add(retryUntimed), false
	untimed := false
	for _, err := range e.errs {
		var r interface{ RetryAt() (time.Time, bool) }
		at, ok := time.Time{}, false
		if errors.As(err, &r) {
			at, ok = r.RetryAt()
		}
		switch {
		case !ok:
			untimed = true
		case !timed:
			first, timed = at, true
		case at.Before(first):
			first = at
		}
	}
	if timed && untimed && e.at.Add(retryUntimed).Before(first) {
		first = e.at.Add(retryUntimed)
	}
	return first, timed
}

// stuckError returns the error for a container of a name, or a sandbox of an id, that did
// not stop in time, although the runtime was told to stop it without a grace period.
func stuckError(layer event.Layer, name string, err error) error {
	return event.At(layer, fmt.Errorf("%s %q: the runtime does not complete it: %w", layer, name, err))
}
