package cri

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// eachLimit is how many reads ReadEach has in flight, not counting those that are
	// overdue.
	eachLimit = 16
	// overdue is after how long without an answer a read gives up its place to another one.
	overdue = 100 * time.Millisecond
	// EachTimeout is how long each read of ReadEach may take.
	EachTimeout = 2 * time.Second
)

// errNotAsked is the error of reads that were not made because the others were not
// answered.
var errNotAsked = errors.New("not asked, because the runtime does not answer the calls before")

// ReadEach makes n reads for a list that somebody waits for, a few at a time, and returns
// the error of each, nil where it was answered. A read that hangs does not hold up the
// others, and ends after EachTimeout; once nothing has been answered for that long, the
// rest is not asked.
func ReadEach(ctx context.Context, n int, read func(ctx context.Context, i int) error) []error {
	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(EachTimeout+overdue, cancel) // after a read that began at once has timed out
	defer silent.Stop()
	errs := make([]error, n)
	places := make(chan struct{}, eachLimit)
	var reading sync.WaitGroup
	for i := range n {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			errs[i] = notAsked(parent)
			continue
		}
		reading.Go(func() {
			leave := sync.OnceFunc(func() { <-places })
			defer leave()
			slow := time.AfterFunc(overdue, leave)
			defer slow.Stop()
			reading, done := context.WithTimeout(ctx, EachTimeout)
			defer done()
			errs[i] = read(reading, i)
			switch {
			case reading.Err() == nil:
				silent.Reset(EachTimeout + overdue)
			case errors.Is(errs[i], context.Canceled):
				errs[i] = notAsked(parent)
			}
		})
	}
	reading.Wait()
	return errs
}

func notAsked(parent context.Context) error {
	if err := parent.Err(); err != nil {
		return err
	}
	return errNotAsked
}
