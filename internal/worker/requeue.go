package worker

import (
	"errors"
	"time"
)

// The periods after which a pod is looked at again, all stretched by the
// shell by up to half (completeWork in pkg/kubelet/pod_workers.go).
const (
	// ResyncPeriod follows a Sync that went well.
	ResyncPeriod = time.Minute
	// BackOffPeriod follows an error that says nothing more, and a name that
	// is taken.
	BackOffPeriod = 10 * time.Second
	// NetworkBackOffPeriod follows ErrNetworkNotReady.
	NetworkBackOffPeriod = time.Second
)

// ErrNetworkNotReady marks an operation's error that will pass soon: the
// runtime's network is not up yet.
var ErrNetworkNotReady = errors.New("network is not ready")

// Retryable is an error that knows when trying again makes sense, such as the
// end of a container's or image's back-off.
type Retryable interface {
	error
	// RetryAt is the time not to try before; false if there is none after all.
	RetryAt() (time.Time, bool)
}

// retryAfter is how long to wait after an operation failed with err.
func retryAfter(now time.Time, err error) time.Duration {
	if errors.Is(err, ErrNetworkNotReady) {
		return NetworkBackOffPeriod
	}
	if at, ok := retryAt(err); ok {
		return min(max(at.Sub(now), 0), ResyncPeriod)
	}
	return BackOffPeriod
}

// retryAt is the earliest retry time anywhere in the tree of err
// (MinBackoffExpiration in pkg/kubelet/container/sync_result.go).
func retryAt(err error) (earliest time.Time, found bool) {
	if r, ok := err.(Retryable); ok { //nolint:errorlint // every node of the tree is looked at
		if at, ok := r.RetryAt(); ok {
			return at, true
		}
	}
	var causes []error
	switch e := err.(type) { //nolint:errorlint // this is the walk down the tree
	case interface{ Unwrap() error }:
		causes = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		causes = e.Unwrap()
	}
	for _, cause := range causes {
		if at, ok := retryAt(cause); ok && (!found || at.Before(earliest)) {
			earliest, found = at, true
		}
	}
	return earliest, found
}
