package logs

import "time"

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
