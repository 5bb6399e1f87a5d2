package logrotate

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// log is a log in its directory.
type log struct {
	*os.Root
	path, base string
}

// open opens the directory of a log, <directory of all logs>/POD/CONTAINER. Neither of the
// two may be a link: whoever has the one above it can put one to the logs of another pod
// there. What happens below the directory afterwards leads nowhere else.
func open(path string) (*log, error) {
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	pod := filepath.Dir(dir)
	root, err := os.OpenRoot(filepath.Dir(pod))
	for _, name := range []string{filepath.Base(pod), filepath.Base(dir)} {
		if err != nil {
			return nil, err
		}
		above := root
		root, err = openDir(above, name)
		_ = above.Close() // nothing was written to it
	}
	if err != nil {
		return nil, err
	}
	return &log{root, path, base}, nil
}

// openDir opens a directory by a name that is no link.
func openDir(in *os.Root, name string) (*os.Root, error) {
	named, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	notDir := &fs.PathError{Op: "open", Path: filepath.Join(in.Name(), name), Err: syscall.ENOTDIR}
	if !named.IsDir() {
		return nil, notDir
	}
	dir, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(opened, named) { // exchanged meanwhile
		err = notDir
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// close closes the directory.
func (l *log) close() { _ = l.Close() } // it holds no data

// maxFilesPerRotation bounds how many files beside a log are handled in one rotation: a
// container that has the directory can make millions. The next one handles the others.
const maxFilesPerRotation = 10_000

// filesBeside returns the names of the files beside the log that are named like it, with
// more behind a dot, and whose modes are wanted.
func (l *log) filesBeside(wanted func(fs.FileMode) bool) ([]string, error) {
	d, err := l.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // it is only read
	var names []string
	for len(names) < maxFilesPerRotation {
		entries, err := d.ReadDir(maxFilesPerRotation / 10)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), l.base+".") && wanted(e.Type()) {
				names = append(names, e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return names, err
		}
	}
	return names, nil
}
