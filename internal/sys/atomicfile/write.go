package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write creates or replaces the file at path, with exactly the permissions
// perm whatever the umask is. The directory must exist: without it, the error
// is fs.ErrNotExist. After an error, which names path, the old file is unchanged. The new name is
// on the disk only after SyncDir.
func Write(path string, content []byte, perm os.FileMode) error {
	return write(path, content, perm, (*os.File).Sync)
}

// Replace is Write for a file that is written again where its content is not right: it
// does not wait for the disk, and a power failure may leave the file empty.
func Replace(path string, content []byte, perm os.FileMode) error {
	return write(path, content, perm, func(*os.File) error { return nil })
}

func write(path string, content []byte, perm os.FileMode, flush func(*os.File) error) (err error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, "."+base+"-*")
	if err != nil {
		return about(path, err)
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(perm), flush(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(about(path, err), os.Remove(f.Name()))
	}
	return nil
}

// about makes an error one about the file at path: the name of the temporary one is random.
func about(path string, err error) error {
	var file *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &link):
		return &os.PathError{Op: link.Op, Path: path, Err: link.Err}
	case errors.As(err, &file):
		return &os.PathError{Op: file.Op, Path: path, Err: file.Err}
	}
	return err
}

// SyncDir flushes a directory, so that the files last written in it survive a
// power failure.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
