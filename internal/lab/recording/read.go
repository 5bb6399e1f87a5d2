package recording

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
	"github.com/podctl/podctl/internal/pods/report"
	"github.com/podctl/podctl/internal/sys/hint"
)

var (
	// ErrForeign: the file is not a recording, or one of a later format.
	ErrForeign = errors.New("not a recording of podctl record")
	// ErrCutOff: the recording ends before its end.
	ErrCutOff = errors.New("the recording is cut off here")
)

// Open reads the recording of a file: a recording, or a report with one.
func Open(file string) (*Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	return Read(file, f)
}

// Read reads a recording, or that of a report. The name is for errors, which say in which line of the
// recording, without its compression, they are.
func Read(name string, r io.Reader) (*Recording, error) {
	text, err := unzip(name, r)
	if err != nil {
		return nil, err
	}
	if isArchive(text) {
		return readReport(name, text)
	}
	return readRecording(name, text)
}

func unzip(name string, r io.Reader) (*bufio.Reader, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, readError(name, 1, fmt.Errorf("%w: %w", ErrForeign, err))
	}
	return bufio.NewReader(zipped), nil
}

func readRecording(name string, text *bufio.Reader) (*Recording, error) {
	t := &reader{recording: &Recording{answers: map[questionKey]answer{}}, lines: text, files: newFileRoom()}
	if err := t.read(); err != nil {
		return nil, readError(name, max(t.line, 1), err)
	}
	return t.recording, nil
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

// reader reads a recording line by line, and rejects what no Writer writes.
type reader struct {
	recording *Recording
	lines     *bufio.Reader
	line      int   // number of the one that was read last
	size      int64 // of all lines, in bytes
	files     *fileRoom
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
	h := &t.recording.Header
	switch err := json.Unmarshal(text, h); {
	case h.Format != formatName:
		return ErrForeign
	case h.Version != formatVersion:
		return hint.Errorf("open it with the podctl that recorded it, "+h.Podctl+", or a later one", "its format is %d, and this podctl reads %d", h.Version, formatVersion)
	case err != nil:
		return err
	case h.Time.IsZero():
		return errors.New("it has no time")
	}
	return nil
}

// add adds a line to the recording.
func (t *reader) add(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
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
		t.recording.node = &arrival.Saved{}
		return json.Unmarshal(l.Node, t.recording.node)
	case l.Owners != nil:
		t.recording.owners = &owners.Saved{}
		return json.Unmarshal(l.Owners, t.recording.owners)
	case l.File != nil:
		return t.addFile(*l.File)
	}
	m, known := methods()[l.Call]
	if !known {
		return fmt.Errorf("unknown call %.40q", l.Call)
	}
	request, err := fromJSON(m.in, l.Request)
	if err != nil {
		return fmt.Errorf("request of %s: %w", l.Call, err)
	}
	id, err := questions[l.Call].idOf(request)
	if err != nil {
		return err
	}
	var a answer
	switch {
	case l.Error != nil:
		code, ok := codeOf(l.Error.Code)
		if !ok {
			return fmt.Errorf("unknown code %.40q", l.Error.Code)
		}
		a.status = status.New(code, l.Error.Text)
	case l.Answer == nil:
		return fmt.Errorf("%s without an answer", l.Call)
	default:
		if a.message, err = fromJSON(m.out, l.Answer); err != nil {
			return fmt.Errorf("answer of %s: %w", l.Call, err)
		}
	}
	t.recording.answers[questionKey{l.Call, id}] = a // of two, the one that came later
	return nil
}

func (t *reader) addFile(f File) error {
	if err := f.check(); err != nil {
		return err
	}
	t.recording.files = append(t.recording.files, f)
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

// countObjects rejects a line, or a recording, of more objects than those of many containers.
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

// isArchive reports whether what is read is a tar archive, as a report is.
func isArchive(r *bufio.Reader) bool {
	const at, magic = 257, "ustar"
	head, _ := r.Peek(at + len(magic)) // a shorter file is none
	return bytes.HasSuffix(head, []byte(magic)) && len(head) == at+len(magic)
}

// readReport reads the recording in a report of podctl report.
func readReport(name string, r io.Reader) (*Recording, error) {
	files := tar.NewReader(io.LimitReader(r, maxTotal))
	var found []string
	var data []byte
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read report %s: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg || path.Base(h.Name) != report.RecordingName {
			continue
		}
		if h.Size > maxTotal { // it may have holes, which take no room in the archive
			return nil, fmt.Errorf("read report %s: %s is larger than %d MiB", name, h.Name, maxTotal>>20)
		}
		found = append(found, h.Name)
		if data, err = io.ReadAll(files); err != nil {
			return nil, fmt.Errorf("read report %s: %w", name, err)
		}
		if len(found) > 1 {
			return nil, hint.Errorf("unpack it, and name one of its files "+report.RecordingName, "read report %s: it has recordings of several nodes", name)
		}
	}
	if len(found) == 0 {
		return nil, hint.Errorf("podctl record FILE makes a recording", "read report %s: it has no recording", name)
	}
	name += ":" + found[0]
	text, err := unzip(name, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return readRecording(name, text) // which is no report: a file could hold itself
}
