package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/sys/bounded"
)

const (
	// maxFile is the kubelet's bound of a manifest
	// (pkg/kubelet/config/common.go).
	maxFile = 10 << 20
	// attempts is how often what changes in a directory is read again.
	attempts = 5
)

// readPath reads a directory, of which all are the files that do not begin with a dot, or a file.
func readPath(ctx context.Context, name string, all bool) Read {
	info, err := os.Stat(name)
	if err != nil {
		return Read{Err: withoutPath(err)}
	}
	if !info.IsDir() {
		data, err := readFile(name)
		if err != nil {
			return Read{Err: withoutPath(err)}
		}
		return Read{Files: []File{{Name: name, Data: data}}}
	}
	return readDir(ctx, name, func(dir string) (listing, error) { return list(dir, all) })
}

// readDir reads a directory. What changes while it is read is read again; a file
// that keeps changing is an error of that file, and keeps nothing else from being
// read.
func readDir(ctx context.Context, dir string, list func(string) (listing, error)) Read {
	before, err := list(dir)
	if err != nil {
		return Read{Err: withoutPath(err)}
	}
	files := map[string]File{}
	unsettled := before.byName()
	for range attempts {
		moving := map[string]bool{}
		for name, e := range unsettled {
			again := readEntry(dir, e)
			was, had := files[name]
			// A file that was only touched is settled.
			moving[name] = !had || was.Err != nil || again.Err != nil || !bytes.Equal(was.Data, again.Data)
			files[name] = again
		}
		after, err := list(dir)
		if err != nil {
			return Read{Err: withoutPath(err)}
		}
		if after.identity != before.identity { // another directory of that name
			files, before, unsettled = map[string]File{}, after, after.byName()
			continue
		}
		unsettled = before.differing(after, moving)
		before = after
		if len(unsettled) == 0 {
			break
		}
		if ctx.Err() != nil {
			return Read{Err: ctx.Err()}
		}
	}
	for name, e := range unsettled {
		files[name] = File{Name: filepath.Join(dir, e.name), Err: errChanging}
	}
	r, there := Read{Identity: before.identity, Skipped: before.skipped}, before.byName()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, is := there[name]; is || errors.Is(files[name].Err, errChanging) {
			r.Files = append(r.Files, files[name])
		}
	}
	return r
}

var errChanging = errors.New("it keeps changing while it is read")

func readEntry(dir string, e entry) File {
	f := File{Name: filepath.Join(dir, e.name), Err: e.err}
	if f.Err == nil {
		f.Data, f.Err = readFile(f.Name)
	}
	f.Err = withoutPath(f.Err)
	return f
}

// withoutPath returns an error without the path, which is known.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}

// listing is what a directory looks like.
type listing struct {
	identity Identity
	entries  []entry
	// skipped are the files that are not hidden and not read.
	skipped []string
}

// entry is one manifest of a directory, as its name leads to it.
type entry struct {
	name     string
	identity Identity
	size     int64
	modified time.Time
	err      error
}

func (l listing) byName() map[string]entry {
	entries := make(map[string]entry, len(l.entries))
	for _, e := range l.entries {
		entries[e.name] = e
	}
	return entries
}

// differing returns the entries that are others in the later listing, or in one of
// the two only. One whose content did not change when it was read again (moving
// is false) may have another time.
func (l listing) differing(later listing, moving map[string]bool) map[string]entry {
	differing := later.byName()
	for _, was := range l.entries {
		is, there := differing[was.name]
		switch again, read := moving[was.name]; {
		case !there:
			differing[was.name] = was
		case is.same(was) || read && !again && is.sameFile(was):
			delete(differing, was.name)
		}
	}
	return differing
}

func (e entry) same(other entry) bool { return e.sameFile(other) && e.modified.Equal(other.modified) }

func (e entry) sameFile(other entry) bool {
	return e.identity == other.identity && e.size == other.size && (e.err == nil) == (other.err == nil)
}

// list looks at the manifests of a directory.
func list(dir string, all bool) (listing, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return listing{}, err
	}
	l := listing{identity: identityOf(info)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return listing{}, err
	}
	for _, e := range entries {
		if !e.IsDir() && manifest.IsKustomization(e.Name()) {
			return listing{}, fmt.Errorf("it has a %s, so that the manifests in it are not those that are to run: kubectl kustomize makes them", e.Name())
		}
		if !manifest.IsManifest(e.Name(), all) {
			if !e.IsDir() && manifest.IsSkipped(e.Name(), all) {
				l.skipped = append(l.skipped, e.Name())
			}
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name())) // follows links: a mounted ConfigMap is made of them
		switch {
		case errors.Is(err, os.ErrNotExist) && e.Type()&os.ModeSymlink == 0:
			continue // it has just gone
		case err != nil:
			l.entries = append(l.entries, entry{name: e.Name(), err: err})
			continue
		case info.IsDir():
			continue
		case !info.Mode().IsRegular():
			l.entries = append(l.entries, entry{name: e.Name(), err: errors.New("not a regular file")})
			continue
		}
		l.entries = append(l.entries, entry{name: e.Name(), identity: identityOf(info), size: info.Size(), modified: info.ModTime()})
	}
	return l, nil
}

func identityOf(info os.FileInfo) Identity {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return Identity{Device: uint64(stat.Dev), Inode: uint64(stat.Ino)} //nolint:unconvert // the types differ between systems
	}
	return Identity{}
}

// readFile reads a regular file: to open a FIFO, which may have taken the place of one,
// blocks.
func readFile(name string) ([]byte, error) {
	f, err := bounded.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	return data, err
}
