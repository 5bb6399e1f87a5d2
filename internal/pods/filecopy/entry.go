package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Kind is the type of an entry.
type Kind uint8

const (
	// File is a regular file.
	File Kind = iota
	// Dir is a directory; its entries follow it.
	Dir
	// Symlink is a symbolic link, which is never followed.
	Symlink
	// Other is everything that is not copied: device nodes, FIFOs, sockets, and the
	// mount points of pseudo file systems.
	Other
)

// Entry is a file, directory or link of what is copied.
type Entry struct {
	// Path is relative to what is copied and clean; "" is that itself.
	Path string
	Kind Kind
	// What names an entry that is Other: "a FIFO".
	What string
	// Mode has the permissions and setuid, setgid and sticky.
	Mode fs.FileMode
	// UID and GID are those that the source shows: in a container its own.
	UID, GID int
	ModTime  time.Time
	// Size is that of a regular file.
	Size int64
	// Target is where a symlink points.
	Target string
	// LinkTo is the path of an earlier entry that is the same file; "" if there is none.
	LinkTo string
	// Open opens a regular file. It may be called until the source goes on.
	Open func() (io.ReadCloser, error)
}

// Source is what is copied.
type Source interface {
	// Each calls do for each entry, a directory before what it holds, until do fails.
	// What cannot be read is passed to failed, and the rest is copied.
	Each(ctx context.Context, do func(Entry) error, failed func(error)) error
}

// Sink is where it is copied to.
type Sink interface {
	// Put makes an entry. content is that of a regular file that is no link.
	Put(ctx context.Context, e Entry, content io.Reader) error
	// Close completes what was put, and releases the sink.
	Close() error
}

// End is one end of a copy: this host or a container.
type End interface {
	// Open returns what a place names.
	Open(ctx context.Context, p Place) (Source, error)
	// Create returns the sink for what is copied from a place: into the directory to if
	// that is one, else under the name to; and the place of the result.
	Create(ctx context.Context, to, from Place) (Sink, Place, error)
	// Close releases the end.
	Close() error
}

var (
	_ End = (*Root)(nil)
	_ End = (*Tar)(nil)
)

// refused returns the error for an entry that is not copied, because of what it is.
func refused(path, what string) error {
	return fmt.Errorf("%s: is %s, which is not copied", path, what)
}

var (
	errChanged   = errors.New("it, or a directory above it, was replaced while it was copied")
	errRedirects = errors.New("a directory above it is no directory, or a symlink, which is not followed")
)

// ErrNotVisible reports that the process that the runtime reports is not one of the
// container here, for instance because podctl is in another PID namespace.
var ErrNotVisible = errors.New("not visible here as one of the container")

// Place is one end of a copy as the user names it.
type Place struct {
	// Target is [NAMESPACE/]POD[/CONTAINER], "" for this host.
	Target string
	Path   string
}

// ParsePlace reads TARGET:PATH or a path of this host. A path with a colon needs a
// slash or a dot at its beginning.
func ParsePlace(text string) (Place, error) {
	target, name, ok := strings.Cut(text, ":")
	if !ok || strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") {
		if text == "" {
			return Place{}, fmt.Errorf("a path is empty")
		}
		return Place{Path: text}, nil
	}
	if target == "" || name == "" {
		return Place{}, fmt.Errorf("%q is not TARGET:PATH", text)
	}
	return Place{Target: target, Path: name}, nil
}

func (p Place) String() string {
	if p.Target == "" {
		return p.Path
	}
	return p.Target + ":" + p.Path
}

// into returns the place of what is copied from a place into a directory.
func into(dir, from Place) Place {
	if base := from.Base(); base != "" {
		dir.Path = path.Join(dir.Path, base)
	}
	return dir
}

// dirOf returns the directory of a path; unlike path.Dir it keeps "..", which a symlink
// before it gives another meaning.
func dirOf(name string) string {
	i := strings.LastIndex(name, "/")
	switch {
	case i < 0:
		return "."
	case i == 0:
		return "/"
	}
	return name[:i]
}

// Contents reports whether the content of the directory is meant: DIR/.
func (p Place) Contents() bool { return p.Path == "." || strings.HasSuffix(p.Path, "/.") }

// Base returns the name under which it is copied into a directory; "" if it has none.
func (p Place) Base() string {
	base := path.Base(path.Clean(p.Path))
	if p.Contents() || base == "/" || base == "." || base == ".." {
		return ""
	}
	return base
}

// IDMap maps the user and group ids of a user namespace to those of the host. The zero
// value maps each to itself.
type IDMap struct{ UIDs, GIDs []Range }

// Range maps Length ids from Inside in the namespace to those from Outside on the host.
type Range struct{ Inside, Outside, Length int }

// overflowID stands for an id that a namespace does not have
// (/proc/sys/kernel/overflowuid).
const overflowID = 65534

// ToHost returns an id on the host; ok is false if the namespace has no such id.
func (IDMap) ToHost(id int, ranges []Range) (host int, ok bool) {
	if ranges == nil {
		return id, true
	}
	for _, r := range ranges {
		if id >= r.Inside && id-r.Inside < r.Length {
			return r.Outside + id - r.Inside, true
		}
	}
	return 0, false
}

// FromHost returns an id as the namespace shows it.
func (IDMap) FromHost(id int, ranges []Range) int {
	if ranges == nil {
		return id
	}
	for _, r := range ranges {
		if id >= r.Outside && id-r.Outside < r.Length {
			return r.Inside + id - r.Outside
		}
	}
	return overflowID
}

// Identity reports whether every id is the same on the host.
func (m IDMap) Identity() bool {
	for _, ranges := range [][]Range{m.UIDs, m.GIDs} {
		for _, r := range ranges {
			if r.Inside != r.Outside {
				return false
			}
		}
	}
	return true
}

// readRanges reads /proc/PID/uid_map or gid_map.
func readRanges(text []byte) (ranges []Range, err error) {
	for line := range strings.Lines(string(text)) {
		var n Range
		if _, err := fmt.Sscan(line, &n.Inside, &n.Outside, &n.Length); err != nil {
			return nil, fmt.Errorf("read id map: %w", err)
		}
		ranges = append(ranges, n)
	}
	return ranges, nil
}
