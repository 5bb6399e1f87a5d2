package tape

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/podctl/podctl/internal/sys/hint"
)

// maxLine bounds a line: a list of 100,000 containers fits.
const maxLine = 64 << 20

var (
	// ErrForeign: the file is not a recording, or one of a later version.
	ErrForeign = errors.New("not a recording of podctl pleg record")
	// ErrCutOff: the recording ends before its end.
	ErrCutOff = errors.New("the recording is cut off here")
)

// Reader reads a tape line by line, and rejects what no Recorder writes.
type Reader struct {
	// Header is the first line.
	Header Header
	file   string
	r      *bufio.Reader
	line   int
	last   int64
	calls  map[int]string // without an answer, and what they ask for
	number int            // of the last call
	listed bool           // a ListPods has been answered
	ended  bool
}

// NewReader reads the header. The name is for errors.
func NewReader(name string, r io.Reader) (*Reader, error) {
	t := &Reader{file: name, r: bufio.NewReader(r), calls: map[int]string{}}
	text, err := t.readLine()
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, ErrCutOff) {
			err = ErrForeign
		}
		return nil, t.lineError(err)
	}
	switch err := json.Unmarshal(text, &t.Header); {
	case t.Header.Format != formatName:
		return nil, t.lineError(ErrForeign)
	case t.Header.Version != formatVersion:
		return nil, t.lineError(fmt.Errorf("%w: its format is %d, this podctl reads %d", ErrForeign, t.Header.Version, formatVersion))
	case err != nil:
		return nil, t.lineError(err)
	case t.Header.Period < 0:
		return nil, t.lineError(errors.New("period is negative"))
	}
	return t, nil
}

// lineError returns the error for the line that was read last.
func (t *Reader) lineError(err error) error {
	advice := ""
	switch {
	case errors.Is(err, ErrForeign):
		advice = "podctl pleg record FILE makes a recording"
	case errors.Is(err, ErrCutOff):
		advice = "all that was recorded until then has been replayed"
	}
	return hint.Errorf(advice, "read %s:%d: %w", t.file, max(t.line, 1), err)
}

// next returns the next entry, io.EOF after the last.
func (t *Reader) next() (entry, error) {
	if t.ended {
		return entry{}, io.EOF
	}
	text, err := t.readLine()
	if errors.Is(err, io.EOF) {
		err = ErrCutOff
	}
	if err != nil {
		return entry{}, t.lineError(err)
	}
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		return entry{}, t.lineError(err)
	}
	if err := t.check(&e); err != nil {
		return entry{}, t.lineError(err)
	}
	return e, nil
}

// readLine is a line without its end, io.EOF after the last one, and ErrCutOff of
// a last one that has no end.
func (t *Reader) readLine() ([]byte, error) {
	t.line++
	var line []byte
	for {
		part, err := t.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(line) > maxLine {
				return nil, fmt.Errorf("longer than %d MiB", maxLine>>20)
			}
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, ErrCutOff
		default:
			return nil, err
		}
	}
}
