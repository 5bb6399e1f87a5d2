package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotRegular is the error for a directory, device, FIFO, socket or symlink.
var ErrNotRegular = errors.New("not a regular file")

// TooLargeError is the error for a file that is larger than the bound.
type TooLargeError struct {
	Path string
	// Max is the bound in bytes.
	Max int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes", e.Path, e.Max)
}

// Read returns the content of the regular file at path if it has at most max
// bytes, else a *TooLargeError. Symlinks are followed.
func Read(path string, max int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	return All(f, max)
}

// ReadNoFollow is Read, except that the path must not name a symlink.
func ReadNoFollow(path string, max int64) ([]byte, error) {
	f, err := OpenNoFollow(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	return All(f, max)
}

// All returns the rest of an open regular file if the file has at most max
// bytes, else a *TooLargeError.
func All(f *os.File, max int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > max {
		return nil, &TooLargeError{f.Name(), max}
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1)) // it may have grown since
	if err == nil && int64(len(data)) > max {
		return nil, &TooLargeError{f.Name(), max}
	}
	return data, err
}
