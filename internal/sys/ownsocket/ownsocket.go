package ownsocket

import (
	"errors"
	"io/fs"
	"net"
	"os"
)

// Own returns a listener whose Close removes the socket at path, unless another
// file has replaced it. It closes l on an error.
func Own(l *net.UnixListener, path string) (net.Listener, error) {
	l.SetUnlinkOnClose(false) // it would unlink the path that l was given
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &socket{Listener: l, path: path, made: made}, nil
}

type socket struct {
	net.Listener
	path string
	made fs.FileInfo
}

func (s *socket) Close() error {
	at, err := os.Lstat(s.path)
	if err == nil && os.SameFile(s.made, at) {
		err = os.Remove(s.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, s.Listener.Close())
}
