package owner

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

// LiveInstances returns the holders of the instance locks in dir, in order of name; none if dir does
// not exist or is not a directory.
func LiveInstances(dir string) ([]Holder, error) {
	files, err := instanceFiles(dir)
	if err != nil {
		return nil, err
	}
	var living []Holder
	for _, file := range files {
		name, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(file, instancePrefix), suffix))
		if err != nil {
			continue // none of ours
		}
		holder, alive, err := holderOf(filepath.Join(dir, file))
		switch {
		case err != nil:
			return nil, err
		case alive:
			holder.Name = name // which it may be about to write
			living = append(living, holder)
		}
	}
	return living, nil
}

// instanceFiles returns the names of the lock files of instances in order. The directory
// may have thousands of others, those of pods: they are neither sorted nor opened.
func instanceFiles(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return instanceFilesIn(d)
}

// instanceFilesIn is instanceFiles of an open directory, which may have been removed.
func instanceFilesIn(d *os.File) ([]string, error) {
	var files []string
	for {
		names, err := d.Readdirnames(readDirBatch)
		for _, name := range names {
			if isInstanceFile(name) {
				files = append(files, name)
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrNotExist):
			slices.Sort(files)
			return files, nil
		case err != nil:
			return nil, err
		}
	}
}

// readDirBatch bounds the names of a directory that are read at once.
const readDirBatch = 1000

// WriteHeartbeat dates the instance's lock file, so that a podctl that finds it after the
// instance was killed knows until when it lived.
func (l *Locks) WriteHeartbeat(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return os.Chtimes(l.self.Name(), now, now)
}

// Exit is the death of an instance that was killed: about when, by its last Beat, and the
// id of the process, "" if it had none.
type Exit struct {
	At time.Time
	ID string
}

// LastHeartbeat is the Exit of an instance. It is zero for one that lives, has ended by itself,
// or whose lock file another podctl has removed since.
func LastHeartbeat(dir, instance string) (Exit, error) {
	path := instancePath(dir, instance)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Exit{}, nil
	}
	if err != nil {
		return Exit{}, err
	}
	if _, held, err := holderOf(path); held || err != nil {
		return Exit{}, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Exit{}, nil
	}
	return Exit{At: info.ModTime(), ID: parseHolder(string(text)).ID}, err
}

// PIDOf is the process that holds the lock of an instance, 0 if that is not known.
func PIDOf(procs proc.FS, dir, instance string) int {
	return procs.LockHolder(instancePath(dir, instance))
}
