package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
