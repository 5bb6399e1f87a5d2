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

// Collect returns the lines of a log that exist now. Lines longer than maxLine are cut
// at the end. A log that does not exist is an fs.ErrNotExist.
func Collect(path string, o Options) ([]Line, error) {
	o.Follow = false
	r, err := Open(path, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var lines []Line
	keep := func(l Line) {
		if l.Begins {
			l.Text = append([]byte(nil), l.Text...)
			lines = append(lines, l)
		}
	}
	for {
		l, ok, err := r.Next()
		if err != nil {
			return lines, err
		}
		if !ok {
			break
		}
		keep(l)
	}
	for l, ok := r.Flush(); ok; l, ok = r.Flush() {
		keep(l)
	}
	return lines, nil
}
