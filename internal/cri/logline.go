package cri

import (
	"bytes"
	"fmt"
	"time"
)

// LogLine is one line that a container wrote.
type LogLine struct {
	Time time.Time
	// Stream is "stdout" or "stderr".
	Stream string
	// Text is the line, without its end.
	Text []byte
	// Partial: the line is not complete, the next of this stream goes on with
	// it. Only ParseLogLine says so; the readers put the parts together.
	Partial bool
}

// ParseLogLine reads one line of a CRI log file:
//
//	2026-01-02T15:04:05.123456789Z stdout F the text
//
// F ends a line, P is a part of one; more tags may follow after colons. The
// text is a part of line, not a copy.
func ParseLogLine(line []byte) (LogLine, error) {
	stamp, rest, ok1 := bytes.Cut(line, []byte(" "))
	stream, rest, ok2 := bytes.Cut(rest, []byte(" "))
	tags, text, ok3 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || !ok3 {
		return LogLine{}, fmt.Errorf("parse log line: want \"time stream tags text\", have %d bytes of something else", len(line))
	}
	t, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return LogLine{}, fmt.Errorf("parse log line: %w", err)
	}
	if s := string(stream); s != "stdout" && s != "stderr" {
		return LogLine{}, fmt.Errorf("parse log line: unknown stream %q", s)
	}
	tag, _, _ := bytes.Cut(tags, []byte(":"))
	switch string(tag) {
	case "F", "P":
	default:
		return LogLine{}, fmt.Errorf("parse log line: unknown tag %q", tag)
	}
	return LogLine{Time: t, Stream: string(stream), Text: text, Partial: string(tag) == "P"}, nil
}

// maxLine is how much of one line is put together from its parts; a longer
// one is handed out in pieces.
const maxLine = 256 << 10

// maxRawLine is how much of one line of a log file is read; of a longer one the
// rest is left out. Runtimes write lines of 16 KiB, unless they are configured
// to write longer ones.
const maxRawLine = 2 * maxLine

// joiner puts the parts of lines together, each stream's own.
type joiner map[string]*LogLine

// add returns the line that l completes, if it does. The text is a copy.
func (j joiner) add(l LogLine) (LogLine, bool) {
	open := j[l.Stream]
	if open == nil {
		open = &LogLine{Time: l.Time, Stream: l.Stream}
		j[l.Stream] = open
	}
	open.Text = append(open.Text, l.Text...)
	if l.Partial && len(open.Text) < maxLine {
		return LogLine{}, false
	}
	delete(j, l.Stream)
	return *open, true
}

// rest returns what was begun and never ended.
func (j joiner) rest() []LogLine {
	var lines []LogLine
	for _, stream := range []string{"stdout", "stderr"} {
		if l := j[stream]; l != nil {
			lines = append(lines, *l)
		}
	}
	clear(j)
	return lines
}
