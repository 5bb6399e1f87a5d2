package cri

import (
	"context"
	"errors"
	"sync"
	"time"
)

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
