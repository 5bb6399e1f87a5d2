package logs

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// Stream is the stream that a container wrote to.
type Stream uint8

// The streams.
const (
	Stdout Stream = iota
	Stderr
	streams = 2
)

func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// Line is one line that a container wrote, or a piece of a line that is longer
// than maxLine or not complete yet.
type Line struct {
	// Time is when the runtime received the line's beginning.
	Time time.Time
	// Stream is where the container wrote it.
	Stream Stream
	// Text is without the line's end. It is valid until the next call of the
	// Reader.
	Text []byte
	// Begins and Ends report whether the text begins and ends the line.
	Begins, Ends bool
}

// record is one line of a log file.
type record struct {
	time    time.Time
	stream  Stream
	partial bool
	text    []byte
}

// errFormat is the error for a line that is no log line.
var errFormat = errors.New("parse log line: not of the form \"time stream tags text\"")

// parseRecord reads one line of a log file:
//
//	2026-01-02T15:04:05.123456789Z stdout F the text
//
// F ends a line, P is a part of one; more tags may follow after colons. The text is a
// part of raw, not a copy.
func parseRecord(r *record, raw []byte) error {
	stamp, ok := r.parseHead(raw)
	if !ok {
		return errFormat
	}
	if err := r.time.UnmarshalText(stamp); err != nil {
		return fmt.Errorf("parse log line: %w", err)
	}
	return nil
}

// parseHead splits a line of a log file into its stream, tag and text, and its
// time, which is returned and not examined.
func (r *record) parseHead(raw []byte) (stamp []byte, ok bool) {
	space := bytes.IndexByte(raw, ' ')
	if space < len("2006-01-02T15:04:05Z") {
		return nil, false
	}
	stamp, raw = raw[:space], raw[space+1:]
	const name = len("stdout ")
	if len(raw) < name+2 {
		return nil, false
	}
	switch string(raw[:name]) {
	case "stdout ":
		r.stream = Stdout
	case "stderr ":
		r.stream = Stderr
	default:
		return nil, false
	}
	raw = raw[name:]
	switch raw[0] {
	case 'F':
		r.partial = false
	case 'P':
		r.partial = true
	default:
		return nil, false
	}
	switch raw[1] {
	case ' ':
		r.text = raw[2:]
		return stamp, true
	case ':':
		if end := bytes.IndexByte(raw, ' '); end >= 0 {
			r.text = raw[end+1:]
			return stamp, true
		}
	}
	return nil, false
}

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
