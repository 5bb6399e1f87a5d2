package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/hint"
)

// file is an open log file.
type file struct {
	*os.File
	identity
}

// identity identifies a log file whatever its name is: logrotate renames each file at each
// rotation.
type identity struct {
	info fs.FileInfo
	// head is the beginning of the content, as of when it was last read.
	head string
}

// same reports whether both are the same file. Logs begin with a time in nanoseconds, so that a
// new file with the inode of a removed one has another head.
func (i identity) same(other identity) bool {
	if (i.head == "") != (other.head == "") || !os.SameFile(i.info, other.info) {
		return false
	}
	return strings.HasPrefix(i.head, other.head) || strings.HasPrefix(other.head, i.head)
}

// headSize is how much of two files is compared.
const headSize = 512

// openFile opens a log file. The error names the path.
func openFile(path string) (*file, error) {
	open, err := bounded.OpenNoFollow(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	f := &file{File: open}
	if f.info, err = open.Stat(); err == nil {
		err = f.readHead()
	}
	if err != nil {
		_ = f.Close() // it was only read
		return nil, fileError(path, err)
	}
	return f, nil
}

// readHead reads the head of a file that may have grown.
func (f *file) readHead() error {
	if len(f.head) == headSize {
		return nil
	}
	head := make([]byte, headSize)
	n, err := f.ReadAt(head, 0)
	f.head = string(head[:n])
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// closeAll closes files that were only read.
func closeAll(files ...*file) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // closing one twice has no effect
		}
	}
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
