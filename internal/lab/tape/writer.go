package tape

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
)

// Writer collects answers for a tape. It is safe for concurrent use.
type Writer struct {
	header Header

	mu    sync.Mutex
	lines []line
	// last are the newest answers, by what was asked.
	last  map[questionKey][]byte
	size  int // of the lines, in bytes
	at    int64
	count Count
}

// Count is the size of a tape.
type Count struct {
	// Answers are those on the tape, Errors those of them that are errors, Events those that are
	// events.
	Answers, Errors, Events int
	// Masked is how many texts are masked. Bytes is the size of the file, Span the time that the
	// tape spans.
	Masked int
	Bytes  int64
	Span   time.Duration
}

// ErrFull reports that a tape has the largest size that is read.
var ErrFull = fmt.Errorf("the recording has %d MiB, and is full", maxRecorded>>20)

// maxRecorded bounds the answers that a Writer takes: a mask may be longer than what it masks.
const maxRecorded = maxTotal - maxTotal/8

// NewWriter returns a Writer of a tape that begins at Header.Start. Format and Version are set
// here.
func NewWriter(h Header) *Writer {
	h.Format, h.Version, h.Start = formatName, formatVersion, h.Start.UTC()
	return &Writer{header: h, last: map[questionKey][]byte{}}
}

// Add adds an answer. One that repeats the last answer to the same question is left out, and so
// are calls that change something, streams of containers, and lists with a filter. The error is
// ErrFull, or one of a message that the CRI does not have.
func (w *Writer) Add(c Call) error {
	name := path.Base(c.Method)
	m, known := methods()[name]
	if !known || m.full != c.Method {
		return nil
	}
	l := line{Took: c.Took.Nanoseconds(), Call: name}
	about := questionKey{method: name}
	request, err := toJSON(m.in, c.Request)
	if err != nil {
		return fmt.Errorf("record request of %s: %w", name, err)
	}
	if string(request) != "{}" {
		if strings.HasPrefix(name, "List") {
			return nil
		}
		l.Request = request
	}
	if q := questions[name]; q != nil {
		if about.subject, err = q.idOf(c.Request); err != nil {
			return fmt.Errorf("record request of %s: %w", name, err)
		}
	}
	switch {
	case c.Status != nil:
		l.Error = &failure{c.Status.Code().String(), c.Status.Message()}
	default:
		if l.Answer, err = toJSON(m.out, c.Response); err != nil {
			return fmt.Errorf("record answer of %s: %w", name, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addCall(about, l, c.At)
}

// AddOwners adds what the owners of the pods answered.
func (w *Writer) AddOwners(answers owners.Saved) error {
	return w.addObject(answers, func(l *line, text []byte) { l.Owners = text })
}

// AddNode adds the node at which pods arrive.
func (w *Writer) AddNode(n arrival.Saved) error {
	return w.addObject(n, func(l *line, text []byte) { l.Node = text })
}

func (w *Writer) addObject(object any, set func(*line, []byte)) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var l line
	set(&l, text)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.add(l, len(text))
}

// AddFiles adds files of the node, all or none.
func (w *Writer) AddFiles(files []File) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	size, lines := w.size, len(w.lines)
	for i := range files {
		if err := files[i].check(); err != nil {
			continue // the name of a cgroup may be any
		}
		if err := w.add(line{File: &files[i]}, len(files[i].Path)+2*len(files[i].Text)); err != nil {
			w.size, w.lines = size, w.lines[:lines]
			return err
		}
	}
	return nil
}

// add adds a line of a size in bytes. w.mu is held.
func (w *Writer) add(l line, size int) error {
	const overhead = 128 // of a line's other fields
	size += overhead
	if w.size+size > maxRecorded || size > maxLine-maxLine/8 || len(w.lines) == maxLines {
		return ErrFull
	}
	w.size += size
	l.T = w.at
	w.lines = append(w.lines, l)
	return nil
}

// addCall adds the line of a call. w.mu is held.
func (w *Writer) addCall(about questionKey, l line, at time.Time) error {
	told := l.Answer
	if l.Error != nil {
		told = []byte(l.Error.Code + " " + l.Error.Text)
	}
	w.at = max(w.at, at.Sub(w.header.Start).Nanoseconds())
	if name := l.Call; name != eventsCall {
		if bytes.Equal(w.last[about], told) {
			return nil
		}
		w.last[about] = told
	}
	if err := w.add(l, len(l.Request)+len(told)); err != nil {
		return err
	}
	w.count.Answers++
	switch {
	case l.Error != nil && l.Error.Code != codes.OK.String():
		w.count.Errors++
	case l.Call == eventsCall && l.Error == nil:
		w.count.Events++
	}
	return nil
}

// toJSON returns a message in its protobuf JSON, the same for equal messages of one program.
func toJSON(t protoreflect.MessageType, message []byte) ([]byte, error) {
	m := t.New().Interface()
	if err := unmarshal(message, m); err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // protojson adds blanks at random
	err = json.Compact(&compact, text)
	return compact.Bytes(), err
}

// Finish writes the tape, whose recording ended at a time: masked, and compressed. Nothing may be
// added any more.
func (w *Writer) Finish(to io.Writer, mask *Mask, end time.Time) (Count, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.lines {
		if err := mask.learn(&w.lines[i]); err != nil {
			return w.count, err
		}
	}
	counted := &counter{to: to}
	zipped := gzip.NewWriter(counted)
	lines := json.NewEncoder(zipped)
	lines.SetEscapeHTML(false)
	err := lines.Encode(w.header)
	for i := range w.lines {
		masked := w.lines[i]
		if err == nil {
			err = mask.apply(&masked)
		}
		if err == nil {
			err = lines.Encode(masked)
		}
	}
	w.at = max(w.at, end.Sub(w.header.Start).Nanoseconds())
	if err == nil {
		n := len(w.lines)
		err = lines.Encode(line{T: w.at, End: &n})
	}
	if err = errors.Join(err, zipped.Close()); err != nil {
		return w.count, fmt.Errorf("write recording: %w", err)
	}
	w.count.Bytes, w.count.Span, w.count.Masked = counted.n, time.Duration(w.at), mask.masked()
	return w.count, nil
}

// counter counts what is written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}
