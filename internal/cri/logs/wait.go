package logs

import (
	"context"
	"time"
)

const (
	// pollPeriod is the poll interval of logs without a line, and flushPeriod that while a
	// runtime writes the rest of a log.
	pollPeriod  = 100 * time.Millisecond
	flushPeriod = 10 * time.Millisecond
)

// wait waits until a log is to be polled.
func (g *Group) wait(ctx context.Context) error {
	timer := time.NewTimer(g.timeout())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-g.wake:
	case <-timer.C:
	}
	return nil
}

// timeout returns how long nothing needs to be done.
func (g *Group) timeout() time.Duration {
	timeout := pollPeriod
	if len(g.heads) > 0 {
		timeout = min(timeout, window)
	}
	for _, m := range g.dry {
		if m.end != nil || m.reader.lingers() {
			timeout = min(timeout, flushPeriod)
		}
		if g.opts.Pieces > 0 && m.reader.lines.pending() {
			timeout = min(timeout, g.opts.Pieces)
		}
	}
	return timeout
}

const (
	// quietTime is how long nothing new must have come where it is not known whether
	// the runtime still writes, and flushTimeout how long it may take to write the
	// rest: of a container that has ended, or to a file that was rotated. A busy disk lets
	// it wait for seconds.
	quietTime    = 100 * time.Millisecond
	flushTimeout = 10 * time.Second
)

// ending is the end of a log whose container has ended, which a runtime may
// report before it has written the last lines.
type ending struct {
	// since is when the log was first examined, last when it last had a line.
	since, last time.Time
}

// over reports whether everything is written. complete and written report what is
// known of the processes that have the file open for writing; none is that there
// is no file.
func (e *ending) over(complete, written, none bool, now time.Time) bool {
	return complete || none || now.Sub(e.last) >= quietTime && !written || now.Sub(e.since) >= flushTimeout
}
