package logs

import "time"

// maxLine is how much of a line is put together from its parts before it is
// passed on in pieces.
const maxLine = 256 << 10

// joiner puts the parts of lines together, those of each stream by themselves.
type joiner struct {
	open [streams]openLine
}

// openLine is the beginning of a line whose end has not been read.
type openLine struct {
	time time.Time
	text []byte
	// is: there is such a line. passed: a piece of it was passed on. used: text was
	// passed on, and its memory is free again.
	is, passed, used bool
}

// add returns the line that the record completes, or a piece of one that grows
// too long; ok is false if there is nothing to pass on yet. The line is valid
// until the next call.
func (j *joiner) add(r *record) (l Line, ok bool) {
	o := &j.open[r.stream]
	if !o.is && !r.partial {
		return Line{Time: r.time, Stream: r.stream, Text: r.text, Begins: true, Ends: true}, true
	}
	if !o.is {
		o.time, o.is, o.passed, o.used = r.time, true, false, true
	}
	if o.used {
		o.text, o.used = o.text[:0], false
	}
	o.text = append(o.text, r.text...)
	if r.partial && len(o.text) < maxLine {
		return Line{}, false
	}
	return o.flush(r.stream, !r.partial), true
}

// flush returns what was collected.
func (o *openLine) flush(s Stream, ends bool) Line {
	l := Line{Time: o.time, Stream: s, Text: o.text, Begins: !o.passed, Ends: ends}
	o.is, o.passed, o.used = !ends, true, true
	return l
}

// pending reports whether a part of a line of the stream was not passed on.
func (o *openLine) pending() bool { return o.is && !o.used && len(o.text) > 0 }

// flush returns a piece of a line whose end has not been read, if there is one.
func (j *joiner) flush() (Line, bool) {
	for s := range j.open {
		if o := &j.open[s]; o.pending() {
			return o.flush(Stream(s), false), true
		}
	}
	return Line{}, false
}

// pending reports whether flush would return a piece.
func (j *joiner) pending() bool { return j.open[Stdout].pending() || j.open[Stderr].pending() }
