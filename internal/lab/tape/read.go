package tape

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
	"github.com/podctl/podctl/internal/sys/hint"
)

var (
	// ErrForeign: the file is not a recording, or one of a later format.
	ErrForeign = errors.New("not a recording of podctl record")
	// ErrCutOff: the recording ends before its end.
	ErrCutOff = errors.New("the recording is cut off here")
)

// Open reads the tape of a file: a recording, or a report with one.
func Open(file string) (*Tape, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	return Read(file, f)
}

// Read reads a tape, or that of a report. The name is for errors, which say in which line of the
// tape, without its compression, they are.
func Read(name string, r io.Reader) (*Tape, error) {
	text, err := unzip(name, r)
	if err != nil {
		return nil, err
	}
	if isArchive(text) {
		return readReport(name, text)
	}
	return readTape(name, text)
}

func unzip(name string, r io.Reader) (*bufio.Reader, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, readError(name, 1, fmt.Errorf("%w: %w", ErrForeign, err))
	}
	return bufio.NewReader(zipped), nil
}

func readTape(name string, text *bufio.Reader) (*Tape, error) {
	t := &reader{tape: &Tape{byQuestion: map[questionKey][]int{}}, lines: text, files: newFileRoom()}
	if err := t.read(); err != nil {
		return nil, readError(name, max(t.line, 1), err)
	}
	return t.tape, nil
}

func readError(name string, line int, err error) error {
	advice := ""
	switch {
	case errors.Is(err, ErrForeign):
		advice = "podctl record FILE makes a recording"
	case errors.Is(err, ErrCutOff):
		advice = "copy the file again"
	}
	return hint.Errorf(advice, "read recording %s:%d: %w", name, line, err)
}

// reader reads a tape line by line, and rejects what no Writer writes.
type reader struct {
	tape  *Tape
	lines *bufio.Reader
	line  int   // number of the one that was read last
	size  int64 // of all lines, in bytes
	last  int64
	files *fileRoom
	// objects are those of all lines.
	objects int
	ended   bool
}

func (t *reader) read() error {
	if err := t.readHeader(); err != nil {
		return err
	}
	for !t.ended {
		text, err := t.readLine()
		if err != nil {
			return err
		}
		if err := t.add(text); err != nil {
			return err
		}
	}
	switch _, err := t.lines.ReadByte(); { // only then the checksum was compared
	case err == nil:
		return errors.New("something comes after the end")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrCutOff
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

func (t *reader) readHeader() error {
	text, err := t.readLine()
	if errors.Is(err, ErrCutOff) {
		return ErrForeign
	}
	if err != nil {
		return err
	}
	h := &t.tape.Header
	switch err := json.Unmarshal(text, h); {
	case h.Format != formatName:
		return ErrForeign
	case h.Version != formatVersion:
		return hint.Errorf("open it with the podctl that recorded it, "+h.Podctl+", or a later one", "its format is %d, and this podctl reads %d", h.Version, formatVersion)
	case err != nil:
		return err
	case h.Start.IsZero():
		return errors.New("it has no time")
	}
	return nil
}

// add adds a line to the tape.
func (t *reader) add(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	at := t.tape.Header.Start.Add(time.Duration(l.T))
	if l.T < t.last || at.Before(t.tape.Header.Start) {
		return fmt.Errorf("time goes back by %v", time.Duration(t.last-l.T))
	}
	t.last, t.tape.end = l.T, at
	if l.End != nil {
		if t.ended = true; *l.End != t.line-2 {
			return fmt.Errorf("%d lines, of which %d are there", *l.End, t.line-2)
		}
		return nil
	}
	if t.line-1 > maxLines {
		return fmt.Errorf("more than %d lines", maxLines)
	}
	switch {
	case max(bytes.Count(l.Owners, []byte("{")), bytes.Count(l.Node, []byte("{"))) > maxKubernetes:
		return fmt.Errorf("more than %d objects in a line about owners or the node", maxKubernetes)
	case l.Node != nil:
		t.tape.node = &arrival.Saved{}
		return json.Unmarshal(l.Node, t.tape.node)
	case l.Owners != nil:
		t.tape.owners = &owners.Saved{}
		return json.Unmarshal(l.Owners, t.tape.owners)
	case l.File != nil:
		return t.addFile(*l.File)
	}
	m, known := methods()[l.Call]
	if !known {
		return fmt.Errorf("unknown call %.40q", l.Call)
	}
	c := Call{Method: m.full, At: at, Took: time.Duration(l.Took)}
	var err error
	if c.Request, err = fromJSON(m.in, l.Request); err != nil {
		return fmt.Errorf("request of %s: %w", l.Call, err)
	}
	switch {
	case l.Error != nil:
		code, ok := codeOf(l.Error.Code)
		if !ok {
			return fmt.Errorf("unknown code %.40q", l.Error.Code)
		}
		c.Status = status.New(code, l.Error.Text)
	case l.Answer == nil:
		return fmt.Errorf("%s without an answer", l.Call)
	default:
		if c.Response, err = fromJSON(m.out, l.Answer); err != nil {
			return fmt.Errorf("answer of %s: %w", l.Call, err)
		}
	}
	return t.tape.add(l.Call, c)
}

func (t *reader) addFile(f File) error {
	if err := f.check(); err != nil {
		return err
	}
	t.tape.files = append(t.tape.files, f)
	return t.files.add(f)
}

// fromJSON returns the message of a protobuf JSON; none is an empty one.
func fromJSON(t protoreflect.MessageType, text json.RawMessage) ([]byte, error) {
	m := t.New().Interface()
	if text != nil {
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}).Unmarshal(text, m); err != nil {
			return nil, err
		}
	}
	return canonical(m)
}

// maxDepth bounds the depth of a message.
const maxDepth = 100

// unmarshal decodes a message of a runtime.
func unmarshal(message []byte, into proto.Message) error {
	return proto.UnmarshalOptions{RecursionLimit: maxDepth, DiscardUnknown: true}.Unmarshal(message, into)
}

// readLine is a line without its end. One that has no end is ErrCutOff, and so is no line.
func (t *reader) readLine() ([]byte, error) {
	t.line++
	var text []byte
	for {
		part, err := t.lines.ReadSlice('\n')
		text = append(text, part...)
		t.size += int64(len(part))
		switch {
		case len(text) > maxLine:
			return nil, fmt.Errorf("longer than %d MiB", maxLine>>20)
		case t.size > maxTotal:
			return nil, fmt.Errorf("the recording is larger than %d MiB", maxTotal>>20)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, ErrCutOff
		case err != nil:
			return nil, err
		default:
			return bytes.TrimSuffix(text, []byte("\n")), t.countObjects(text)
		}
	}
}

// countObjects rejects a line, or a tape, of more objects than those of many containers.
func (t *reader) countObjects(text []byte) error {
	objects := bytes.Count(text, []byte("{")) + bytes.Count(text, []byte("["))
	t.objects += objects
	switch {
	case objects > maxObjects:
		return fmt.Errorf("more than %d objects in a line", maxObjects)
	case bytes.Count(text, []byte(",")) > maxEntries:
		return fmt.Errorf("more than %d values in a line", maxEntries)
	case t.objects > maxAllObjects:
		return fmt.Errorf("more than %d objects", maxAllObjects)
	}
	return nil
}
