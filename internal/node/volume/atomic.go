package volume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// files are the contents of a volume, by path relative to it.
type files map[string]file

type file struct {
	data []byte
	mode os.FileMode
	// user owns the file; nil is root.
	user *int64
}

const (
	// dataName leads to the directory that has the files now.
	dataName = "..data"
	// nextName becomes dataName.
	nextName = "..data_tmp"
	// stampLayout begins the name of a directory with files.
	stampLayout = "..2006_01_02_15_04_05."

	maxNameLength = 255
	maxPathLength = 4096
)

// update brings the files in a directory from what they are to what they
// should be in one instant (pkg/volume/util/atomic_writer.go):
//
//	NAME ──► ..data/NAME          what containers open; one for each first element of a path
//	..data ──► ..2026_01_02_….123 what one rename exchanges
//	..2026_01_02_….123/           the files
//
// Its steps may end after any of them, or in the middle of one, and another
// update then brings it to its end.
type update struct {
	dir  string
	want files
	// own gives everything in dir to its owner, before it becomes visible.
	own func() error

	current string // the directory that dataName leads to, "" for none
	fresh   string // the one that takes its place, "" if nothing has changed
}

// writeFiles makes dir, which exists, hold exactly the files.
func writeFiles(dir string, want files, own func() error) error {
	u, err := newUpdate(dir, want, own)
	if err != nil {
		return err
	}
	for _, step := range u.steps() {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func newUpdate(dir string, want files, own func() error) (*update, error) {
	clean := files{}
	for path, f := range want {
		if err := checkPath(path); err != nil {
			return nil, err
		}
		clean[filepath.Clean(path)] = f
	}
	return &update{dir: dir, want: clean, own: own}, nil
}

func (u *update) steps() []func() error {
	return []func() error{u.compare, u.clean, u.write, u.setOwner, u.link, u.swap, u.linkNames, u.unlinkNames, u.clean}
}

// compare finds out what there is, and whether it is what is wanted. Modes are
// not compared: they change only with the pod.
func (u *update) compare() error {
	current, err := os.Readlink(u.at(dataName))
	if errors.Is(err, fs.ErrNotExist) {
		u.fresh = "?"
		return nil
	}
	if err != nil {
		return err
	}
	if !isStamped(current) {
		return fmt.Errorf("%s leads to %q, which is not one of its directories", u.at(dataName), current)
	}
	u.current = current
	same, err := holds(u.at(current), u.want)
	if !same {
		u.fresh = "?"
	}
	return err
}

// holds reports whether a directory has exactly the files.
func holds(dir string, want files) (bool, error) {
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, ok := want[name]
		if !ok || !d.Type().IsRegular() {
			return errDiffers
		}
		data, err := bounded.Read(path, int64(len(f.data)))
		if _, larger := errors.AsType[*bounded.TooLargeError](err); larger {
			return errDiffers
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(data, f.data) {
			return errDiffers
		}
		seen++
		return nil
	})
	if errors.Is(err, errDiffers) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && seen == len(want), err
}

var errDiffers = errors.New("another file")

// write puts the files into a directory of their own.
func (u *update) write() error {
	if u.fresh == "" {
		return nil
	}
	dir, err := os.MkdirTemp(u.dir, time.Now().UTC().Format(stampLayout))
	if err != nil {
		return err
	}
	u.fresh = filepath.Base(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for path, f := range u.want {
		if err := makeParents(dir, path); err != nil {
			return err
		}
		at := filepath.Join(dir, path)
		if err := os.WriteFile(at, f.data, 0o600); err != nil {
			return err
		}
		if f.user != nil {
			if err := os.Lchown(at, int(*f.user), -1); err != nil {
				return err
			}
		}
		if err := os.Chmod(at, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// makeParents makes the directories that lead to path below dir, open to all
// whatever the umask.
func makeParents(dir, path string) error {
	for i, r := range path {
		if r != filepath.Separator {
			continue
		}
		at := filepath.Join(dir, path[:i])
		if err := os.Mkdir(at, 0o755); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := os.Chmod(at, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (u *update) setOwner() error {
	if u.fresh == "" {
		return nil
	}
	return u.own()
}

func (u *update) link() error {
	if u.fresh == "" {
		return nil
	}
	if err := os.Remove(u.at(nextName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(u.fresh, u.at(nextName))
}

// swap returns the instant.
func (u *update) swap() error {
	if u.fresh == "" {
		return nil
	}
	if err := os.Rename(u.at(nextName), u.at(dataName)); err != nil {
		return err
	}
	u.current = u.fresh
	return nil
}

// linkNames makes the links of names that are new. What is there already stays: it
// may be the mount point of another volume.
func (u *update) linkNames() error {
	for path := range u.want {
		name := firstOf(path)
		err := os.Symlink(filepath.Join(dataName, name), u.at(name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// unlinkNames removes the links of names that are gone.
func (u *update) unlinkNames() error {
	shown := map[string]bool{}
	for path := range u.want {
		shown[firstOf(path)] = true
	}
	entries, err := os.ReadDir(u.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if shown[name] || e.Type() != fs.ModeSymlink || name == dataName || name == nextName {
			continue
		}
		if to, err := os.Readlink(u.at(name)); err != nil || to != filepath.Join(dataName, name) {
			continue
		}
		if err := os.Remove(u.at(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// clean removes the directories of files that are out of use. It comes first,
// too, for those that were never in use: a volume in memory may be full of them.
func (u *update) clean() error {
	entries, err := os.ReadDir(u.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && isStamped(e.Name()) && e.Name() != u.current {
			if err := os.RemoveAll(u.at(e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *update) at(name string) string { return filepath.Join(u.dir, name) }

// isStamped reports whether a name is that of a directory of files.
func isStamped(name string) bool {
	const stamp = len(stampLayout)
	if len(name) <= stamp || strings.ContainsRune(name, filepath.Separator) {
		return false
	}
	_, err := time.Parse(stampLayout, name[:stamp])
	return err == nil
}

func firstOf(path string) string {
	first, _, _ := strings.Cut(path, string(filepath.Separator))
	return first
}

// checkPath refuses what would leave the volume, and names that are the
// update's own (validatePath in pkg/volume/util/atomic_writer.go).
func checkPath(path string) error {
	elements := strings.Split(path, string(filepath.Separator))
	switch {
	case path == "" || filepath.Clean(path) == ".":
		return fmt.Errorf("invalid path: must not be empty: %q", path)
	case filepath.IsAbs(path):
		return fmt.Errorf("invalid path: must be relative path: %s", path)
	case len(path) > maxPathLength:
		return fmt.Errorf("invalid path: must be less than or equal to %d characters", maxPathLength)
	case slices.Contains(elements, ".."):
		return fmt.Errorf("invalid path: must not contain '..': %s", path)
	case slices.ContainsFunc(elements, func(e string) bool { return len(e) > maxNameLength }):
		return fmt.Errorf("invalid path: filenames must be less than or equal to %d characters", maxNameLength)
	case strings.HasPrefix(filepath.Clean(path), ".."):
		return fmt.Errorf("invalid path: must not start with '..': %s", path)
	}
	return nil
}
