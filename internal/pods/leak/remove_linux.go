package leak

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
)

// exitTimeout is how long a process that was killed may take to exit.
const exitTimeout = 2 * time.Second

// remove removes one thing, if it is still the same. One that is gone is no error.
func (r *Remover) remove(ctx context.Context, t Thing) (err error) {
	switch t.Kind {
	case Process, Shim:
		err = r.kill(t)
	case Mount:
		err = r.detach(t.Path)
	case NetworkNamespace, IPCNamespace, UTSNamespace, UserNamespace:
		err = r.removeNamespace(t)
	case Lease:
		err = r.release(ctx, t)
	case Cgroup:
		err = r.removeCgroup(t.Path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, proc.ErrGone) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// kill kills a process and waits until it has exited.
func (r *Remover) kill(t Thing) error {
	fd, err := unix.PidfdOpen(t.PID, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	// From here on the PID is that of the same process as long as that lives.
	p, err := r.Host.Procs.Read(t.PID)
	if err != nil {
		return err
	}
	if p.Start != t.Start {
		return proc.ErrGone
	}
	if same, err := r.stillOf(t); err != nil || !same {
		return errors.Join(err, errChanged)
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		return err
	}
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(exitTimeout); ; {
		n, err := unix.Poll(polled, int(time.Until(end).Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR) && time.Now().Before(end):
		case err != nil:
			return err
		case n == 0:
			return hint.Errorf(fmt.Sprintf("cat /proc/%d/stack", t.PID), "it was killed and does not exit (state %s)", p.State)
		default:
			return nil
		}
	}
}

// stillOf reports whether a process is in the cgroup, or a shim of the id, with which it was
// found.
func (r *Remover) stillOf(t Thing) (bool, error) {
	if t.Kind == Shim {
		args, err := r.Host.Procs.Command(t.PID)
		if err != nil {
			return false, err
		}
		if len(args) == 0 {
			return false, proc.ErrGone // it has exited
		}
		flags := proc.Flags(args[1:])
		return flags["id"] == t.ID || flags["c"] == t.ID, nil
	}
	cgroups, err := r.Host.Procs.Cgroups(t.PID)
	return slices.ContainsFunc(cgroups, func(c proc.Cgroup) bool {
		return c.Path == t.Path || strings.HasPrefix(c.Path, t.Path+"/")
	}), err
}

// detach detaches the mount at a path.
func (r *Remover) detach(path string) error {
	mounts, err := r.Host.Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.Mountpoint == path {
			return hint.With(unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW), "umount --lazy "+shellQuoted(path))
		}
	}
	return fs.ErrNotExist
}

// removeNamespace unmounts a namespace in which no process is, and removes its file.
func (r *Remover) removeNamespace(t Thing) error {
	path, ns := t.Path, namespaceTypes[t.Kind]
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err
	}
	switch pid, unread := r.Host.occupants().in(fmt.Sprintf("%s:[%d]", ns, st.Ino)); {
	case pid != 0:
		return hint.Errorf(fmt.Sprintf("ls -l /proc/%d/exe; umount %[2]s && rm %[2]s removes it", pid, shellQuoted(path)), "process %d is in it", pid)
	case unread != nil:
		return hint.With(unread, fmt.Sprintf("lsns -t %s -o NS,NPROCS,NSFS; if no process is in it, umount %[2]s && rm %[2]s removes it", ns, shellQuoted(path)))
	}
	if err := r.detach(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > 0 {
		return errChanged
	}
	return os.Remove(path)
}

// release removes the file of an address under host-local's lock, if the same id has it.
func (r *Remover) release(ctx context.Context, t Thing) error {
	path := filepath.Join(r.Host.Root, t.Path)
	lock := filepath.Join(filepath.Dir(path), "lock")
	if _, err := os.Lstat(lock); err != nil {
		return hint.Errorf(Leak{ID: t.ID, Things: []Thing{t}}.removalByHand(), "host-local has no lock at %s", lock)
	}
	unlock, err := flock.Lock(ctx, lock)
	if err != nil {
		return err
	}
	defer unlock()
	id, _, _, err := readLease(path)
	if err != nil {
		return err
	}
	if id != t.ID {
		return errChanged
	}
	return os.Remove(path)
}

// maxCgroups bounds the cgroups below one that is removed, in all hierarchies.
const maxCgroups = 4096

// removeCgroup removes a cgroup and those below it from all hierarchies, unless a process is
// in one of them.
func (r *Remover) removeCgroup(group string) error {
	hierarchies, err := filepath.Glob(filepath.Join(r.Host.Cgroups, "*"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(r.Host.Cgroups, "cgroup.controllers")); err == nil {
		hierarchies = []string{r.Host.Cgroups}
	}
	var dirs []string
	for _, h := range hierarchies {
		if info, err := os.Lstat(h); err != nil || !info.IsDir() {
			continue // cpu is a link to cpu,cpuacct
		}
		err := filepath.WalkDir(filepath.Join(h, group), func(path string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case !e.IsDir():
				return nil
			}
			if dirs = append(dirs, path); len(dirs) > maxCgroups {
				return hint.Errorf(fmt.Sprintf("find %s -depth -type d -exec rmdir {} +", shellQuoted(filepath.Join(h, group))), "there are more than %d cgroups below it", maxCgroups)
			}
			procs, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			if err == nil && len(procs) > 0 {
				pid, _, _ := strings.Cut(string(procs), "\n")
				return hint.Errorf(fmt.Sprintf("ps -fp %s; once it has exited, podctl orphans --kill removes the cgroup", pid), "process %s is in it", pid)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(dirs) {
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
			err := &os.PathError{Op: "rmdir", Path: dir, Err: err}
			return hint.With(err, fmt.Sprintf("find %s -depth -type d -exec rmdir {} +", shellQuoted(dir)))
		}
	}
	return nil
}
