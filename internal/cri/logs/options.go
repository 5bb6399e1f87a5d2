package logs

import "time"

// Options select lines of a log. The zero value selects none: see All.
type Options struct {
	// Tail is how many of the last lines are read; negative is all.
	Tail int64
	// Since omits the lines before it; the zero time omits none.
	Since time.Time
	// Omit omits the lines of a stream.
	Omit [streams]bool
	// OneFile leaves out rotated files.
	OneFile bool
	// Parts passes on the parts of lines as they are in the files, each of which counts
	// for Tail, as the kubelet does.
	Parts bool
	// Follow keeps the log open at its end, so that Next returns what is written
	// afterwards; a log that does not exist yet is waited for.
	Follow bool
	// Problem is called with what could not be read, and does not end the reading;
	// nil ignores it.
	Problem func(error)
}

// All selects all lines.
var All = Options{Tail: -1}
