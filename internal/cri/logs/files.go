package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/hint"
)

const (
	zipSuffix = ".gz"
	tmpSuffix = ".tmp"
)

// rotatedNames returns the files that rotations left beside the log at path,
// oldest first, each without its suffix .gz: NAME.20060102-150405. A directory
// that does not exist has none.
func rotatedNames(path string) ([]string, error) {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if stamp, ok := strings.CutPrefix(e.Name(), base+"."); ok && !strings.HasSuffix(stamp, tmpSuffix) {
			names = append(names, dir+strings.TrimSuffix(e.Name(), zipSuffix))
		}
	}
	slices.Sort(names) // by time
	return slices.Compact(names), nil
}

// file is an open log file.
type file struct {
	*os.File
	// zipped: it is compressed, and cannot be read from its end.
	zipped bool
}

// openPlain opens a log file that is not compressed.
func openPlain(path string) (*file, error) {
	f, err := bounded.OpenNoFollow(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return &file{File: f}, nil
}

// openRotated opens a rotated file by its name without .gz. It may be compressed
// at any time, and has both names while it is.
func openRotated(name string) (*file, error) {
	f, err := openPlain(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	zipped, err := bounded.OpenNoFollow(name + zipSuffix)
	if err != nil {
		return nil, fileError(name+zipSuffix, err)
	}
	return &file{File: zipped, zipped: true}, nil
}

// size returns the size of the file, 0 if it is not known.
func (f *file) size() int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// sameAs reports whether the other file holds the same log: it is the same file
// or, since a compressed one is not, has the same beginning. A log begins with a
// time in nanoseconds.
func (f *file) sameAs(other *file) bool {
	a, errA := f.Stat()
	b, errB := other.Stat()
	if errA != nil || errB != nil {
		return false
	}
	if !f.zipped && !other.zipped {
		return os.SameFile(a, b)
	}
	mine, theirs := f.head(), other.head()
	return len(mine) > 0 && string(mine) == string(theirs)
}

// headSize is how much of two files is compared.
const headSize = 512

func (f *file) head() []byte {
	section := io.NewSectionReader(f, 0, math.MaxInt64)
	r, err := f.reader(section)
	if err != nil {
		return nil
	}
	head := make([]byte, headSize)
	n, _ := io.ReadFull(r, head) // what could be read is compared
	return head[:n]
}

// reader returns a reader of the log in r, which reads the file.
func (f *file) reader(r io.Reader) (io.Reader, error) {
	if !f.zipped {
		return r, nil
	}
	return newUnzip(r)
}

// fileError returns the error for a log file that cannot be read, or a part of one. It
// names the path once.
func fileError(path string, err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	advice := ""
	if errors.Is(err, fs.ErrPermission) {
		advice = "log files belong to root: run podctl as root, for instance with sudo"
	}
	return hint.Errorf(advice, "read log %s: %w", path, err)
}

// oddError returns the error for lines of a log file that are no log lines.
func oddError(path string, count int) error {
	lines := "1 line is"
	if count != 1 {
		lines = fmt.Sprintf("%d lines are", count)
	}
	return fmt.Errorf("read log %s: %s not in the format of container logs and omitted", path, lines)
}
