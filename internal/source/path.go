package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// maxFile is the kubelet's bound of a manifest
	// (pkg/kubelet/config/common.go).
	maxFile = 10 << 20
	// attempts are how often a directory is read that changes meanwhile.
	attempts = 5
)

// readPath reads a directory, or a file.
func readPath(ctx context.Context, name string) Read {
	info, err := os.Stat(name)
	if err != nil {
		return Read{Err: short(err)}
	}
	if !info.IsDir() {
		data, err := readFile(name)
		if err != nil {
			return Read{Err: short(err)}
		}
		return Read{Files: []File{{Name: name, Data: data}}}
	}
	for range attempts {
		before, err := list(name)
		if err != nil {
			return Read{Err: short(err)}
		}
		r := Read{Identity: before.identity}
		for _, e := range before.entries {
			f := File{Name: filepath.Join(name, e.name)}
			if f.Err = e.err; f.Err == nil {
				f.Data, f.Err = readFile(f.Name)
			}
			f.Err = short(f.Err)
			r.Files = append(r.Files, f)
		}
		after, err := list(name)
		if err != nil {
			return Read{Err: short(err)}
		}
		if before.same(after) {
			return r
		}
		if ctx.Err() != nil {
			return Read{Err: ctx.Err()}
		}
	}
	return Read{Err: errors.New("it keeps changing while it is read")}
}

// short is an error without the path, which is known.
func short(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}

// listing is what a directory looks like.
type listing struct {
	identity Identity
	entries  []entry
}

// entry is one manifest of a directory, as its name leads to it.
type entry struct {
	name     string
	identity Identity
	size     int64
	modified time.Time
	err      error
}

func (l listing) same(other listing) bool {
	return l.identity == other.identity && slices.EqualFunc(l.entries, other.entries, func(a, b entry) bool {
		return a.name == b.name && a.identity == b.identity && a.size == b.size && a.modified.Equal(b.modified) && (a.err == nil) == (b.err == nil)
	})
}

// list looks at the manifests of a directory.
func list(dir string) (listing, error) {
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
		if !isManifest(e.Name()) {
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

// isManifest tells by its name whether a file of a directory is read.
func isManifest(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func identityOf(info os.FileInfo) Identity {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return Identity{Device: uint64(stat.Dev), Inode: uint64(stat.Ino)} //nolint:unconvert // the types differ between systems
	}
	return Identity{}
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
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
