package filecopy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Directory is a Sink: a name in a directory, under which entries are made.
type Directory struct {
	root *os.File
	// name is the entry "" below root; "" is root itself, which exists.
	name  string
	title string
	ids   IDMap
	// made are the directories to complete once they are full.
	made []Entry
}

// Put implements Sink.
func (d *Directory) Put(ctx context.Context, e Entry, content io.Reader) error {
	at := path.Join(d.name, e.Path)
	if at == "" || at == "." {
		return d.putRoot(e)
	}
	parent, err := openBeneath(d.root, path.Dir(at), unix.O_PATH|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOTDIR) { // what O_DIRECTORY says of a symlink
		return fmt.Errorf("%s: %w", path.Join(d.title, e.Path), errRedirects)
	}
	if err != nil {
		return d.explain(e.Path, err)
	}
	defer func() { _ = parent.Close() }() // only looked up in
	name := path.Base(at)
	switch {
	case e.Kind == Dir:
		err = d.mkdir(parent, name, e)
	case e.Kind == Symlink:
		err = d.place(parent, name, func(temporary string) error { return d.symlink(parent, temporary, e) })
	case e.LinkTo != "" && d.link(parent, name, e) == nil:
	default:
		err = d.place(parent, name, func(temporary string) error { return d.write(parent, temporary, e, content) })
	}
	return d.explain(e.Path, err)
}

// putRoot: the content of a directory goes into one that exists.
func (d *Directory) putRoot(e Entry) error {
	if e.Kind != Dir {
		return d.explain("", unix.EISDIR)
	}
	return nil
}

// explain names the path of an error.
func (d *Directory) explain(at string, err error) error {
	name := path.Join(d.title, at)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("%s: %w", name, errRedirects)
	case errors.Is(err, unix.EXDEV):
		return fmt.Errorf("%s: %w", name, errChanged)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("write %s: it is a mount point", name)
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return fmt.Errorf("write %s: %w", name, err)
}

// mkdir makes a directory, or takes the one that is there as it is.
func (d *Directory) mkdir(parent *os.File, name string, e Entry) error {
	err := unix.Mkdirat(int(parent.Fd()), name, 0o700)
	if errors.Is(err, unix.EEXIST) {
		there, err := openBeneath(parent, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err == nil {
			_ = there.Close() // only looked at
		}
		return err
	}
	if err == nil {
		d.made = append(d.made, e)
	}
	return err
}

// place makes a file under a temporary name, and gives it its own when it is complete.
func (d *Directory) place(parent *os.File, name string, fill func(temporary string) error) error {
	temporary := ".podctl-" + rand.Text()[:12]
	err := fill(temporary)
	if err == nil {
		err = unix.Renameat(int(parent.Fd()), temporary, int(parent.Fd()), name)
	}
	if err != nil {
		_ = unix.Unlinkat(int(parent.Fd()), temporary, 0) // the first error counts
	}
	return err
}

// write writes a regular file.
func (d *Directory) write(parent *os.File, name string, e Entry, content io.Reader) error {
	file, err := openBeneath(parent, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = d.complete(file, e)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// complete sets owner, mode and time of an open file or directory, in this order: a
// change of the owner clears setuid.
func (d *Directory) complete(file *os.File, e Entry) error {
	fd := int(file.Fd())
	if os.Geteuid() == 0 {
		uid, gid, err := d.owner(e)
		if err != nil {
			return err
		}
		if err := unix.Fchown(fd, uid, gid); err != nil {
			return err
		}
	}
	if err := unix.Fchmod(fd, modeBits(e.Mode)); err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), times(e.ModTime), 0)
}

func (d *Directory) owner(e Entry) (uid, gid int, err error) {
	uid, ok := d.ids.ToHost(e.UID, d.ids.UIDs)
	gid, okGroup := d.ids.ToHost(e.GID, d.ids.GIDs)
	if !ok || !okGroup {
		return 0, 0, fmt.Errorf("the container's user namespace has no user %d or group %d", e.UID, e.GID)
	}
	return uid, gid, nil
}

func times(modified time.Time) []unix.Timespec {
	t := unix.NsecToTimespec(modified.UnixNano())
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, t}
}

// symlink makes a symlink.
func (d *Directory) symlink(parent *os.File, name string, e Entry) error {
	fd := int(parent.Fd())
	if err := unix.Symlinkat(e.Target, fd, name); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		uid, gid, err := d.owner(e)
		if err != nil {
			return err
		}
		if err := unix.Fchownat(fd, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(fd, name, times(e.ModTime), unix.AT_SYMLINK_NOFOLLOW)
}

// link makes a hard link to an earlier entry. Its error means that the file has to be
// copied.
func (d *Directory) link(parent *os.File, name string, e Entry) error {
	first, err := openBeneath(d.root, path.Join(d.name, e.LinkTo), unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }() // only looked at
	return d.place(parent, name, func(temporary string) error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", first.Fd()), int(parent.Fd()), temporary, unix.AT_SYMLINK_FOLLOW)
	})
}

// Close implements Sink: directories get their modes and times, the innermost first.
func (d *Directory) Close() error {
	var first error
	for _, e := range slices.Backward(d.made) {
		dir, err := openBeneath(d.root, path.Join(d.name, e.Path), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err == nil {
			err = d.complete(dir, e)
			_ = dir.Close() // only described
		}
		if first == nil {
			first = d.explain(e.Path, err)
		}
	}
	if err := d.root.Close(); first == nil {
		first = err
	}
	return first
}
