package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/proc"
)

// files reads the files of a kubelet.
type files struct {
	read func(path string) ([]byte, error)
	glob func(dir, suffix string) ([]string, error)
	// dir is the directory that relative paths start from.
	dir string
}

// maxConfig bounds a configuration file, in bytes, and maxEntries the entries of a
// directory of them.
const maxConfig, maxEntries = 1 << 20, 100

// filesOf reads the files of a process.
func filesOf(pid int) files {
	dir, err := os.Readlink(filepath.Join(filepath.Dir(proc.Default.Root(pid)), "cwd"))
	if err != nil {
		dir = "/"
	}
	return filesBelow(rootOf(pid), dir)
}

// filesBelow reads regular files and directories below a root directory only:
// the process chooses the paths, and may replace what is there at any time.
func filesBelow(root, dir string) files {
	return files{
		dir: dir,
		read: func(path string) ([]byte, error) {
			r, name, err := openRoot(root, path)
			if err != nil {
				return nil, err
			}
			defer func() { _ = r.Close() }() // it is only read
			f, err := bounded.OpenIn(r, name)
			if err != nil {
				return nil, err
			}
			defer func() { _ = f.Close() }() // it is only read
			return bounded.All(f, maxConfig)
		},
		glob: func(dir, suffix string) ([]string, error) {
			entries, err := readDir(root, dir)
			var paths []string
			for _, e := range entries {
				if strings.HasSuffix(e.Name(), suffix) {
					paths = append(paths, filepath.Join(dir, e.Name()))
				}
			}
			return paths, err
		},
	}
}

// until returns files whose reads fail once the context has ended.
func (f files) until(ctx context.Context) files {
	read := f.read
	f.read = func(path string) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return read(path)
	}
	return f
}

// openRoot opens a root directory, and returns the name below it that a path of
// the process has without symbolic links.
func openRoot(root, path string) (*os.Root, string, error) {
	name, err := filepath.Rel(root, resolveIn(root, path))
	if err != nil {
		return nil, "", err
	}
	r, err := os.OpenRoot(root)
	return r, name, err
}

// readDir lists a directory; any other kind of file is an error.
func readDir(root, path string) ([]os.DirEntry, error) {
	r, name, err := openRoot(root, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it is only read
	dir, err := r.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it is only read
	entries, err := dir.ReadDir(maxEntries + 1)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err == nil && len(entries) > maxEntries:
		return nil, fmt.Errorf("%s has more than %d entries", path, maxEntries)
	}
	return entries, err
}
