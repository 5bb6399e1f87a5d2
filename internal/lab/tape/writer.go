package tape

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
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

	mu sync.Mutex
	// lines are compressed until they are masked: a node is large, and the memory of this process
	// is what its pods do not have.
	lines   bytes.Buffer
	zipped  *gzip.Writer
	encoder *json.Encoder
	number  int // of lines
	// last are hashes of the newest answers, by what was asked, pids the processes they name.
	last map[questionKey][sha256.Size]byte
	pids map[questionKey]int
	cut  cutter
	size int // of the lines, in bytes
	at   int64
	// count is what Finish returns.
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
	// Cut are the names of objects of which parts were left out.
	Cut []string
}

// ErrFull reports that a tape has the largest size that is read.
var ErrFull = fmt.Errorf("the recording has %d MiB, and is full", maxRecorded>>20)

// maxRecorded bounds the answers that a Writer takes: a mask may be longer than what it masks.
const maxRecorded = maxTotal - maxTotal/4

// NewWriter returns a Writer of a tape that begins at Header.Start. Format and Version are set
// here.
func NewWriter(h Header) *Writer {
	h.Format, h.Version, h.Start = formatName, formatVersion, h.Start.UTC()
	w := &Writer{header: h, last: map[questionKey][sha256.Size]byte{}, pids: map[questionKey]int{}, cut: cutter{room: maxObject}}
	w.zipped, _ = gzip.NewWriterLevel(&w.lines, gzip.BestSpeed) // there is such a level
	w.encoder = json.NewEncoder(w.zipped)
	w.encoder.SetEscapeHTML(false)
	return w
}

// expect bounds each object so that a number of them has room.
func (w *Writer) expect(objects int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut.room = max(minObject, min(maxObject, maxRecorded/2/max(1, objects)))
}

// prepared is a call that can be added: that of a large answer is much smaller.
type prepared struct {
	about questionKey
	line  line
}

// Add adds an answer. One that repeats the last answer to the same question is left out, and so
// are calls that change something, streams of containers, and lists with a filter. The error is
// ErrFull, or one of a message that the CRI does not have.
func (w *Writer) Add(c Call) error {
	p, err := w.prepare(c)
	if err != nil || p == nil {
		return err
	}
	return w.addCall(*p, c.At)
}

// prepare returns the line of a call, nil if it is not recorded. What is too large of its objects
// is left out.
func (w *Writer) prepare(c Call) (*prepared, error) {
	name := path.Base(c.Method)
	m, known := methods()[name]
	if !known || m.full != c.Method {
		return nil, nil
	}
	l := line{Took: c.Took.Nanoseconds(), Call: name}
	about := questionKey{method: name}
	request, _, err := toJSON(m.in, c.Request)
	if err != nil {
		return nil, fmt.Errorf("record request of %s: %w", name, err)
	}
	if string(request) != "{}" {
		if strings.HasPrefix(name, "List") {
			return nil, nil
		}
		l.Request = request
	}
	if q := questions[name]; q != nil {
		if about.subject, err = q.idOf(c.Request); err != nil {
			return nil, fmt.Errorf("record request of %s: %w", name, err)
		}
	}
	switch {
	case c.Status != nil:
		l.Error = &failure{c.Status.Code().String(), c.Status.Message()}
	default:
		var before bool
		if l.Answer, before, err = toJSON(m.out, c.Response); err == nil {
			l.Answer, err = w.shrink(l.Answer, before)
		}
		if err != nil {
			return nil, fmt.Errorf("record answer of %s: %w", name, err)
		}
	}
	return &prepared{about, l}, nil
}

// shrink cuts the objects of an answer, of which texts may be cut before.
func (w *Writer) shrink(answer []byte, before bool) ([]byte, error) {
	w.mu.Lock()
	c := cutter{room: w.cut.room, before: before}
	w.mu.Unlock()
	answer, err := c.answer(answer)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range c.cut {
		if !slices.Contains(w.cut.cut, name) {
			w.cut.cut = append(w.cut.cut, name)
		}
	}
	return answer, err
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
	if err == nil {
		text, err = w.shrink(text, false)
	}
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
	size, room := 0, newFileRoom()
	for i := range files {
		size += lineOverhead + len(files[i].Path) + 2*len(files[i].Text)
		if files[i].check() == nil && room.add(files[i]) != nil {
			return ErrFull
		}
	}
	if w.size+size > maxRecorded || w.number+len(files) > maxLines {
		return ErrFull
	}
	for i := range files {
		if err := files[i].check(); err != nil {
			continue // the name of a cgroup may be any
		}
		if err := w.add(line{File: &files[i]}, len(files[i].Path)+2*len(files[i].Text)); err != nil {
			return err
		}
	}
	return nil
}

// lineOverhead is the size of a line's other fields.
const lineOverhead = 128

// add adds a line of a size in bytes. w.mu is held.
func (w *Writer) add(l line, size int) error {
	size += lineOverhead
	if w.size+size > maxRecorded || size > maxLine-maxLine/4 || w.number == maxLines {
		return ErrFull
	}
	w.size += size
	w.number++
	l.T = w.at
	return w.encoder.Encode(l)
}

// addCall adds the line of a call.
func (w *Writer) addCall(p prepared, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := p.line.Answer
	if e := p.line.Error; e != nil {
		told = []byte(e.Code + " " + e.Text)
	}
	w.at = max(w.at, at.Sub(w.header.Start).Nanoseconds())
	if p.line.Call != eventsCall {
		hash := sha256.Sum256(told)
		if was, ok := w.last[p.about]; ok && was == hash {
			return nil
		}
		w.last[p.about], w.pids[p.about] = hash, pidOf(p)
	}
	if err := w.add(p.line, len(p.line.Request)+len(told)); err != nil {
		return err
	}
	w.count.Answers++
	switch {
	case p.line.Error != nil && p.line.Error.Code != codes.OK.String():
		w.count.Errors++
	case p.line.Call == eventsCall && p.line.Error == nil:
		w.count.Events++
	}
	return nil
}

// recorded calls a function with each line.
func (w *Writer) recorded(each func(l *line) error) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(w.lines.Bytes()))
	if err != nil {
		return err
	}
	for decoder := json.NewDecoder(unzipped); ; {
		var l line
		switch err := decoder.Decode(&l); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(&l); err != nil {
			return err
		}
	}
}

// toJSON returns a message in its protobuf JSON, the same for equal messages of one program. cut
// reports whether texts in it are cut.
func toJSON(t protoreflect.MessageType, message []byte) (_ []byte, cut bool, err error) {
	m := t.New().Interface()
	if err := unmarshal(message, m); err != nil {
		return nil, false, err
	}
	cut = len(message) > maxObject/4 && cutMessage(m.ProtoReflect())
	text, err := protojson.MarshalOptions{}.Marshal(m)
	if err != nil {
		return nil, false, err
	}
	var compact bytes.Buffer // protojson adds blanks at random
	err = json.Compact(&compact, text)
	return compact.Bytes(), cut, err
}

// Finish writes the tape, whose recording ended at a time: masked, and compressed. Nothing may be
// added any more.
func (w *Writer) Finish(to io.Writer, mask *Mask, end time.Time) (Count, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.zipped.Close(); err != nil {
		return w.count, err
	}
	if err := w.recorded(mask.learn); err != nil {
		return w.count, err
	}
	counted := &counter{to: to}
	zipped := gzip.NewWriter(counted)
	lines := json.NewEncoder(zipped)
	lines.SetEscapeHTML(false)
	err := lines.Encode(w.header)
	if err == nil {
		err = w.recorded(func(l *line) error {
			if err := mask.apply(l); err != nil {
				return err
			}
			return lines.Encode(l)
		})
	}
	w.at = max(w.at, end.Sub(w.header.Start).Nanoseconds())
	if err == nil {
		err = lines.Encode(line{T: w.at, End: &w.number})
	}
	if err = errors.Join(err, zipped.Close()); err != nil {
		return w.count, fmt.Errorf("write recording: %w", err)
	}
	w.count.Bytes, w.count.Span, w.count.Masked = counted.n, time.Duration(w.at), mask.masked()
	w.count.Cut = w.cut.cut
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
