package journal

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"github.com/podctl/podctl/internal/pod/event"
)

const (
	// maxSize is the size of one of the two files, in bytes.
	maxSize = 4 << 20
	// maxLine is the size of one entry.
	maxLine = 64 << 10
	// maxText is to what a longer text of an entry is cut.
	maxText = 4 << 10
)

// Dir returns the journal's directory below podctl's root directory.
func Dir(root string) string { return filepath.Join(root, "events") }

const (
	currentName = "journal.jsonl"
	rotatedName = "journal.1.jsonl"
)

// Entry is an event and who recorded it.
type Entry struct {
	event.Event
	// Instance is the podctl process that recorded it.
	Instance string `json:"instance,omitempty"`
}

// line returns the entry as a line, with its texts cut; nil if it cannot be one.
func (e Entry) line() []byte {
	for limit := maxText; limit > 0; limit /= 2 { // a byte may be six in JSON
		if b, err := json.Marshal(e.truncated(limit)); err == nil && len(b) < maxLine {
			return append(b, '\n')
		}
	}
	return nil
}

// truncated returns the entry with every text cut to a limit. The facts of the event are
// others', and are copied.
func (e Entry) truncated(limit int) Entry {
	e.Message = truncate(e.Message, limit)
	e.Exit = changed(e.Exit, func(x *event.Exit) { x.Message = truncate(x.Message, limit) })
	e.Waiting = changed(e.Waiting, func(w *event.ContainerWait) { w.Message = truncate(w.Message, limit) })
	e.Probe = changed(e.Probe, func(p *event.Probe) { p.Output = truncate(p.Output, limit) })
	e.Failure = changed(e.Failure, func(f *event.Failure) { f.Text = truncate(f.Text, limit) })
	e.End = changed(e.End, func(x *event.End) { x.Message = truncate(x.Message, limit) })
	return e
}

// changed returns a changed copy of a fact, nil for none.
func changed[T any](fact *T, change func(*T)) *T {
	if fact == nil {
		return nil
	}
	c := *fact
	change(&c)
	return &c
}

func truncate(text string, limit int) string {
	if len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}

// parse returns the entries of whole lines; what is none is passed over.
func parse(data []byte) []Entry {
	var entries []Entry
	for line := range bytes.Lines(data) {
		var e Entry
		if len(line) <= maxLine && json.Unmarshal(line, &e) == nil && e.Reason != "" {
			entries = append(entries, e)
		}
	}
	return entries
}
