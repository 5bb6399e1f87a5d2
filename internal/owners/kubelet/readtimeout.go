package kubelet

import (
	"context"
	"errors"
	"time"
)

// filesTimeout bounds reading the files of kubelets. A process chooses the paths, so that
// a file may be on a file system that never answers.
const filesTimeout = 2 * time.Second

// readsInFlight has an entry for each read in flight. A read that hangs takes a thread
// until its file system answers; once all entries are taken nothing more is read.
var readsInFlight = make(chan struct{}, 16)

var errHangs = errors.New("the files of a kubelet do not answer")

// withReadTimeout returns what read returns, or an error when the context ends or the files
// do not answer in time. The read then goes on, with a context that has ended.
func withReadTimeout[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, filesTimeout, errHangs)
	defer cancel()
	done := make(chan result, 1)
	select {
	case readsInFlight <- struct{}{}:
	default:
		return *new(T), errHangs
	}
	go func() {
		defer func() { <-readsInFlight }()
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

// readSettingsInTime is readSettings within filesTimeout. With an error it returns the
// defaults.
func readSettingsInTime(ctx context.Context, args []string, f files) (settings, error) {
	got, err := withReadTimeout(ctx, func(ctx context.Context) (*settings, error) {
		s, err := readSettings(args, f.until(ctx))
		return &s, err
	})
	if got == nil {
		return defaultSettings(), err
	}
	return *got, err
}
