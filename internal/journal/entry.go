package journal

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"github.com/podctl/podctl/internal/event"
)

const (
	// maxSize is the size of one of the two files, in bytes.
	maxSize = 4 << 20
	// maxLine is the size of one entry.
	maxLine = 64 << 10
	// maxText is to what a longer message is cut.
	maxText = 4 << 10
)

// Dir is the journal's directory below podctl's root directory.
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

// line returns the entry as a line; nil if it cannot be one.
func (e Entry) line() []byte {
	if len(e.Message) > maxText {
		e.Message = e.Message[:maxText] + "…"
	}
	b, err := json.Marshal(e)
	if err != nil || len(b) >= maxLine {
		return nil
	}
	return append(b, '\n')
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
