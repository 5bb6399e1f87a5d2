package logs

import (
	"compress/gzip"
	"errors"
	"io"
)

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
