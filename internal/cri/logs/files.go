package logs

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/podctl/podctl/internal/sys/hint"
)

const (
	zipSuffix = ".gz"
	tmpSuffix = ".tmp"
)

// file is an open log file.
type file struct {
	*os.File
	// zipped: it is compressed, and cannot be read from its end.
	zipped bool
}

// size returns the size of the file, 0 if it is not known.
func (f *file) size() int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// headSize is how much of two files is compared.
const headSize = 512

// head returns the first headSize bytes of the uncompressed content, fewer if there are no more.
func (f *file) head() (string, error) {
	r, err := f.reader(io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil {
		return "", err
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // there is no more
	}
	return string(head[:n]), err
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

// errCut is the error for a compressed file that ends too early.
var errCut = errors.New("the compressed file is cut short: its remaining lines are lost")

// unzip reads a compressed file.
type unzip struct{ *gzip.Reader }

func newUnzip(r io.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errCut
	case err != nil:
		return nil, err
	}
	return unzip{z}, nil
}

// Read implements io.Reader.
func (u unzip) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errCut
	}
	return n, err
}
