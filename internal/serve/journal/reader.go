package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// maxRead is how much of a file is read at most.
const maxRead = 4 * maxSize

// Reader reads the journal of a directory, and what is added to it.
type Reader struct {
	dir     string
	current *os.File // nil before there is one
	// rest is the beginning of a line whose end is not written yet.
	rest []byte
}

// NewReader returns a reader that begins with the oldest entry.
func NewReader(dir string) *Reader { return &Reader{dir: dir} }

// Next returns the entries that are new since the last call, in the order of their
// times: all of them at the first call. A journal that does not exist has none.
func (r *Reader) Next() ([]Entry, error) {
	var entries []Entry
	read := func() error {
		found, err := r.read()
		entries = append(entries, found...)
		return err
	}
	for {
		if err := read(); err != nil {
			return nil, err
		}
		current, err := r.open(currentName)
		if err != nil {
			return nil, err
		}
		if current == nil && r.current != nil || same(current, r.current) {
			_ = closeFile(current)
			break
		}
		rotated, err := r.open(rotatedName)
		if err != nil {
			return nil, errors.Join(err, closeFile(current))
		}
		// What was rotated since the last call, or is there at the first one.
		if same(rotated, r.current) || same(rotated, current) {
			_ = closeFile(rotated)
		} else if rotated != nil {
			r.readFrom(rotated)
			if err := read(); err != nil {
				return nil, errors.Join(err, closeFile(current))
			}
		}
		if current == nil {
			break
		}
		r.readFrom(current)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	return entries, nil
}

// readFrom begins to read another file.
func (r *Reader) readFrom(f *os.File) {
	_ = closeFile(r.current) // it was only read
	r.current, r.rest = f, nil
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// open opens one of the files; nil without an error if it does not exist.
func (r *Reader) open(name string) (*os.File, error) {
	f, err := bounded.OpenNoFollow(filepath.Join(r.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

func same(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	one, errA := a.Stat()
	other, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(one, other)
}

// read returns the entries in the rest of the current file.
func (r *Reader) read() ([]Entry, error) {
	if r.current == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.current, maxRead))
	if err != nil {
		return nil, err
	}
	data = append(r.rest, data...)
	end := bytes.LastIndexByte(data, '\n') + 1
	r.rest = slices.Clone(data[end:])
	if len(r.rest) > maxLine {
		r.rest = nil
	}
	return parse(data[:end]), nil
}

// Close closes the files.
func (r *Reader) Close() { _ = closeFile(r.current) }

// ReadPod returns the entries of one pod, in their order in the files. Lines that do not
// hold its UID are not parsed. A journal that does not exist has none.
func ReadPod(dir string, uid types.UID) ([]Entry, error) {
	var found []Entry
	for _, name := range []string{rotatedName, currentName} {
		f, err := bounded.OpenNoFollow(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return found, err
		}
		data, err := bounded.All(f, maxRead)
		if err = errors.Join(err, f.Close()); err != nil {
			return found, err
		}
		var lines []byte
		for line := range bytes.Lines(data) {
			if bytes.Contains(line, []byte(uid)) {
				lines = append(lines, line...)
			}
		}
		for _, e := range parse(lines) {
			if e.UID == uid {
				found = append(found, e)
			}
		}
	}
	return found, nil
}
