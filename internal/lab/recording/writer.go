package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
)

// Writer collects answers for a recording. It is safe for concurrent use.
type Writer struct {
	header Header

	mu sync.Mutex
	// lines are compressed until they are masked: a node is large, and the memory of this process
	// is what its pods do not have.
	lines   bytes.Buffer
	zipped  *gzip.Writer
	encoder *json.Encoder
	number  int // of lines
	// pids are the processes that the newest answers name.
	pids map[questionKey]int
	cut  cutter
	size int // of the lines, in bytes
	// count is what Finish returns.
	count Count
}

// Count is the size of a recording.
type Count struct {
	// Answers are those in the recording, Errors those of them that are errors.
	Answers, Errors int
	// Masked is how many texts are masked, Bytes the size of the file.
	Masked int
	Bytes  int64
	// Cut are the names of objects of which parts were left out.
	Cut []string
}

// ErrFull reports that a recording has the largest size that is read.
var ErrFull = fmt.Errorf("the recording has %d MiB, and is full", maxRecorded>>20)

// maxRecorded bounds the answers that a Writer takes: a mask may be longer than what it masks.
const maxRecorded = maxTotal - maxTotal/4

// NewWriter returns a Writer. Format, Version and Time of the header are set by it.
func NewWriter(h Header) *Writer {
	h.Format, h.Version = formatName, formatVersion
	w := &Writer{header: h, pids: map[questionKey]int{}, cut: cutter{room: maxObject}}
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

// Add adds the answer to a call, or the error in its place; name is the CRI's name of the call. The
// error is ErrFull, or one of a message that the CRI does not have.
func (w *Writer) Add(name string, request, response proto.Message, failed error) error {
	l := line{Call: name}
	asked, err := canonical(request)
	if err != nil {
		return err
	}
	id, err := questions[name].idOf(asked)
	if err == nil && len(asked) > 0 {
		l.Request, err = toJSON(request)
	}
	if err != nil {
		return fmt.Errorf("record request of %s: %w", name, err)
	}
	if failed != nil {
		why := status.Convert(failed)
		l.Error = &failure{why.Code().String(), why.Message()}
	} else {
		before := proto.Size(response) > maxObject/4 && cutMessage(response.ProtoReflect())
		if l.Answer, err = toJSON(response); err == nil {
			l.Answer, err = w.shrink(l.Answer, before)
		}
		if err != nil {
			return fmt.Errorf("record answer of %s: %w", name, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	size := len(l.Request) + len(l.Answer)
	if l.Error != nil {
		size += len(l.Error.Text)
		w.count.Errors++
	}
	w.count.Answers++
	w.pids[questionKey{name, id}] = pidOf(l)
	return w.add(l, size)
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
	return w.encoder.Encode(l)
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

// toJSON returns the protobuf JSON of a message.
func toJSON(m proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // protojson adds blanks at random
	err = json.Compact(&compact, text)
	return compact.Bytes(), err
}

// Finish writes the recording, which ended at a time: masked, and compressed. Nothing may be added
// any more.
func (w *Writer) Finish(to io.Writer, mask *Mask, end time.Time) (Count, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.zipped.Close(); err != nil {
		return w.count, err
	}
	if err := w.recorded(mask.learn); err != nil {
		return w.count, err
	}
	w.header.Time = end.UTC()
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
	if err == nil {
		err = lines.Encode(line{End: &w.number})
	}
	if err = errors.Join(err, zipped.Close()); err != nil {
		return w.count, fmt.Errorf("write recording: %w", err)
	}
	w.count.Bytes, w.count.Masked = counted.n, mask.masked()
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
