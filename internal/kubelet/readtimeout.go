package kubelet

import (
	"context"
	"errors"
	"time"
)

// filesTimeout bounds reading the files of kubelets. Such a file may be of a
// file system that never answers: a process chooses what it calls a kubelet's.
const filesTimeout = 2 * time.Second

// hanging has an entry for each read in flight. One that hangs takes a thread
// until its file system answers: with all of them taken nothing more is read.
var hanging = make(chan struct{}, 16)

var errHangs = errors.New("the files of a kubelet do not answer")

// inTime returns what read returns, or an error when the context ends or the files
// do not answer in time. The read then goes on, with a context that has ended.
func inTime[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, filesTimeout, errHangs)
	defer cancel()
	done := make(chan result, 1)
	select {
	case hanging <- struct{}{}:
	default:
		return *new(T), errHangs
	}
	go func() {
		defer func() { <-hanging }()
		value, err := read(ctx)
		done <- result{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// settingsInTime is readSettings within filesTimeout, the defaults with its error.
func settingsInTime(ctx context.Context, args []string, f files) (settings, error) {
	got, err := inTime(ctx, func(ctx context.Context) (*settings, error) {
		s, err := readSettings(args, f.until(ctx))
		return &s, err
	})
	if got == nil {
		return defaultSettings(), err
	}
	return *got, err
}
