package cri

import (
	"context"
	"errors"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// DefaultTimeout bounds the calls that only read, where Endpoint.Timeout is
	// zero.
	DefaultTimeout = 30 * time.Second
	// ConnectTimeout bounds Connect as a whole, unless Endpoint.Timeout is less.
	ConnectTimeout = 10 * time.Second

	// changeTimeout is the kubelet's runtimeRequestTimeout: what a call that
	// changes something gets at least.
	changeTimeout = 2 * time.Minute
	// backstop ends what has no limit of its own, so that no call lasts for
	// ever. A pull without progress is ended by the runtime long before.
	backstop = 6 * time.Hour
)

// class says how long a call may take.
type class uint8

const (
	// change: Endpoint.Timeout, but at least changeTimeout. The zero value, so
	// that a method missing below errs on the patient side.
	change class = iota
	// read: Endpoint.Timeout.
	read
	// slowChange: twice change (the kubelet's rule for RunPodSandbox).
	slowChange
	// withOwn: change, on top of the time that the request itself gives the
	// runtime (grace period, timeout of an exec).
	withOwn
	// pull: backstop.
	pull
)

// call is what this package knows about one CRI method.
type call struct {
	verb  string // in errors, followed by the object
	class class
}

// calls has every CRI method that this package uses, and the methods of containerd that
// package pulls uses.
var calls = map[string]call{
	"Version":            {"ask version", read},
	"Status":             {"read runtime status", read},
	"RuntimeConfig":      {"read runtime config", read},
	"ListPodSandbox":     {"list sandboxes", read},
	"StreamPodSandboxes": {"list sandboxes", read},
	"PodSandboxStatus":   {"read status of sandbox", read},
	"ListContainers":     {"list containers", read},
	"StreamContainers":   {"list containers", read},
	"ContainerStatus":    {"read status of container", read},
	"ImageStatus":        {"read status of image", read},
	"ListImages":         {"list images", read},
	"StreamImages":       {"list images", read},
	"ImageFsInfo":        {"read image filesystem", read},

	"ListContainerStats":    {"read statistics of containers", read},
	"StreamContainerStats":  {"read statistics of containers", read},
	"ListPodSandboxStats":   {"read statistics of sandboxes", read},
	"StreamPodSandboxStats": {"read statistics of sandboxes", read},

	"RunPodSandbox":    {"run sandbox", slowChange},
	"StopPodSandbox":   {"stop sandbox", change},
	"RemovePodSandbox": {"remove sandbox", change},
	"CreateContainer":  {"create container", change},
	"StartContainer":   {"start container", change},
	"StopContainer":    {"stop container", withOwn},
	"RemoveContainer":  {"remove container", change},
	"ExecSync":         {"exec in container", withOwn},
	"Exec":             {"exec in container", read},
	"Attach":           {"attach to container", read},
	"PortForward":      {"forward ports of sandbox", read},

	"UpdateContainerResources":  {"resize container", change},
	"UpdatePodSandboxResources": {"resize sandbox", change},

	"PullImage":   {"pull image", pull},
	"RemoveImage": {"remove image", change},

	"ReopenContainerLog": {"reopen log of container", change},

	// A stream has no deadline: it lasts until the caller's context ends.
	"GetContainerEvents": {"watch container events", read},
}

// deadline is how long a call of the method may take. timeout is
// Endpoint.Timeout, not zero.
func deadline(method string, req any, timeout time.Duration) time.Duration {
	patient := max(timeout, changeTimeout)
	switch calls[method].class {
	case read:
		return timeout
	case slowChange:
		return 2 * patient
	case pull:
		return backstop
	case change:
	case withOwn:
		switch r := req.(type) {
		case *runtimeapi.StopContainerRequest:
			return patient + time.Duration(r.Timeout)*time.Second
		case *runtimeapi.ExecSyncRequest:
			if r.Timeout == 0 {
				return backstop
			}
			return patient + time.Duration(r.Timeout)*time.Second
		}
	}
	return patient
}

const (
	// readEachLimit is how many reads ReadEach has in flight, not counting slow ones.
	readEachLimit = 16
	// slowReadAfter is how long a read may take before it no longer counts toward the limit.
	slowReadAfter = 100 * time.Millisecond
	// ReadEachTimeout is the timeout of each read of ReadEach.
	ReadEachTimeout = 2 * time.Second
)

// errNotRead is the error of reads that were not made because earlier ones were not answered.
var errNotRead = errors.New("not asked, because the runtime does not answer the calls before")

// ReadEach calls read for 0 to n-1, a few at a time, and returns the error of each, nil for
// success. It is for interactive lists: a read that hangs does not delay the others and is canceled
// after ReadEachTimeout; once no read has been answered for that long, the remaining ones are not
// made.
func ReadEach(ctx context.Context, n int, read func(ctx context.Context, i int) error) []error {
	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	noAnswer := time.AfterFunc(ReadEachTimeout+slowReadAfter, cancel) // later than the timeout of the first reads
	defer noAnswer.Stop()
	errs := make([]error, n)
	slots := make(chan struct{}, readEachLimit)
	var reading sync.WaitGroup
	for i := range n {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			errs[i] = notReadError(parent)
			continue
		}
		reading.Go(func() {
			release := sync.OnceFunc(func() { <-slots })
			defer release()
			slow := time.AfterFunc(slowReadAfter, release)
			defer slow.Stop()
			reading, done := context.WithTimeout(ctx, ReadEachTimeout)
			defer done()
			errs[i] = read(reading, i)
			switch {
			case reading.Err() == nil:
				noAnswer.Reset(ReadEachTimeout + slowReadAfter)
			case errors.Is(errs[i], context.Canceled):
				errs[i] = notReadError(parent)
			}
		})
	}
	reading.Wait()
	return errs
}

func notReadError(parent context.Context) error {
	if err := parent.Err(); err != nil {
		return err
	}
	return errNotRead
}
