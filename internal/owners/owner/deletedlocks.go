package owner

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

// DeletedLock is a lock of a living process whose file was deleted: it guards nothing
// until the process has restored it, but what it stands for has an owner.
type DeletedLock struct {
	Holder
	PID int
	// dir is the name of the file's directory below the run directory.
	dir, file string
}

// LockHolders are the processes that held any file lock when they were read. The zero value
// has not been read.
type LockHolders struct {
	procs proc.FS
	pids  []int
	at    time.Time
	// err is a *LocksError: they could not be read.
	err error
}

// LocksError: the processes that hold locks cannot be seen. So a podctl process may
// live that has another run directory, or whose locks were deleted.
type LocksError struct{ Cause error }

func (e *LocksError) Error() string {
	return fmt.Sprintf("podctl processes may live that are not seen: %v", e.Cause)
}

func (e *LocksError) Unwrap() error { return e.Cause }

// Hint says what it takes.
func (e *LocksError) Hint() string {
	if errors.Is(e.Cause, proc.ErrTooLarge) {
		return "find the process that holds so many locks in the fifth column of /proc/locks, and end it"
	}
	return "podctl reads /proc/locks: mount /proc without subset=pid"
}

// ReadLockHolders reads which of the processes hold locks. The kernel lets it wait for some
// milliseconds, whatever there is to read.
func ReadLockHolders(procs proc.FS) LockHolders {
	pids, err := procs.LockHolders()
	if err != nil {
		err = &LocksError{err}
	}
	return LockHolders{procs: procs, pids: pids, at: time.Now(), err: err}
}

// holdersMaxAge is how long LockHolders are valid after they were read.
const holdersMaxAge = time.Second

// recent returns h, or LockHolders read again if h is older than holdersMaxAge.
func (h LockHolders) recent() LockHolders {
	if time.Since(h.at) < holdersMaxAge {
		return h
	}
	return ReadLockHolders(h.procs)
}

// openFiles iterates over the files that files returns for each other holder that may be podctl. The
// files of other processes are not read: there may be millions, or a file system that hangs.
func (h LockHolders) openFiles(files func(pid int) []proc.OpenFile) iter.Seq2[int, proc.OpenFile] {
	return func(yield func(int, proc.OpenFile) bool) {
		for _, pid := range h.pids {
			if pid == os.Getpid() {
				continue
			}
			if !mayOwnPods(h.procs, pid) {
				continue
			}
			for _, f := range files(pid) {
				if !yield(pid, f) {
					return
				}
			}
		}
	}
}

// DeletedLocks are the locks of other living processes whose files were deleted from the
// directories below a run directory. Processes that cannot be seen from here, and those
// that cannot be podctl's, are left out. The error is a *LocksError.
func (h LockHolders) DeletedLocks(run string) (DeletedLocks, error) {
	return h.deletedLocks(run), h.err
}

func (h LockHolders) deletedLocks(run string) DeletedLocks {
	var lost DeletedLocks
	isLock := func(name string) bool { return filepath.Ext(name) == suffix }
	deleted := func(pid int) []proc.OpenFile { return h.procs.DeletedFilesNamed(pid, isLock) }
	for pid, f := range h.openFiles(deleted) {
		if !isBelow(h.procs, pid, f.Path, run) {
			continue
		}
		text, err := f.Read()
		if err != nil {
			continue // closed meanwhile
		}
		dir, file := filepath.Split(f.Path)
		lost = append(lost, DeletedLock{Holder: parseHolder(string(text)), PID: pid, dir: filepath.Base(dir), file: file})
	}
	return lost
}

// isBelow reports whether a lock file that a process has open was deleted from a
// directory of the run directory. Where that cannot be told, because what was above the
// file for that process is gone, too, it may have been mounted at another path there: the
// name of the run directory decides.
func isBelow(procs proc.FS, pid int, path, run string) bool {
	above := filepath.Dir(filepath.Dir(path))
	theirs, err := os.Stat(filepath.Join(procs.Root(pid), above))
	if err != nil {
		return filepath.Base(above) == filepath.Base(run)
	}
	ours, err := os.Stat(run)
	return err == nil && os.SameFile(ours, theirs)
}

// DeletedLocks is a list of deleted locks.
type DeletedLocks []DeletedLock

// Dirs returns the directories below the run directory that had the locks.
func (l DeletedLocks) Dirs(run string) []string {
	var dirs []string
	for _, lost := range l {
		if dir := filepath.Join(run, lost.dir); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// LiveInstances returns the holders of deleted instance locks of a directory.
func (l DeletedLocks) LiveInstances(dir string) []Holder {
	var living []Holder
	for _, lost := range l {
		if lost.dir == filepath.Base(dir) && strings.HasPrefix(lost.file, instancePrefix) {
			living = append(living, lost.Holder)
		}
	}
	return living
}

// Holder returns which process holds the deleted lock of a full name.
func (l DeletedLocks) Holder(dir, fullName string) (h Holder, held bool) {
	lost, held := l.lockAt(namePath(dir, fullName))
	return lost.Holder, held
}

// lockAt returns the deleted lock that was at path.
func (l DeletedLocks) lockAt(path string) (DeletedLock, bool) {
	for _, lost := range l {
		if lost.file == filepath.Base(path) && lost.dir == filepath.Base(filepath.Dir(path)) {
			return lost, true
		}
	}
	return DeletedLock{}, false
}

// heldError says that the process holds the lock.
func (l DeletedLock) heldError(what string) *HeldError {
	return &HeldError{What: what, Owner: l.Name, PID: l.PID, Deleted: true}
}

// wait returns a deleted lock below the run directory that matches. A process that
// releases a lock deletes its file just before: that is no such lock.
func (h LockHolders) wait(run string, match func(DeletedLock) bool) (found DeletedLock, any bool) {
	for range deletedLockTries {
		lost := h.deletedLocks(run)
		i := slices.IndexFunc(lost, match)
		if i < 0 {
			return DeletedLock{}, false
		}
		found = lost[i]
		time.Sleep(lockRetry)
	}
	return found, true
}

// deletedLockTries is how often a lock must be seen as deleted to be taken for one that
// its process has not deleted.
const deletedLockTries = 5

// OtherLockDirs returns the lock directories that living podctl processes have below other run
// directories, as they are seen from here: of a process with another --run-dir, or in a
// container. Processes that cannot be seen from here are left out, and those that use a
// runtime within themselves.
func (h LockHolders) OtherLockDirs(run string) []string {
	ours, _ := os.Stat(run)
	var dirs []string
	var known []os.FileInfo
	instances := func(pid int) []proc.OpenFile { return h.procs.FilesNamed(pid, isInstanceFile) }
	for pid, f := range h.openFiles(instances) {
		dir := filepath.Join(h.procs.Root(pid), filepath.Dir(f.Path))
		above, err := os.Stat(filepath.Dir(dir))
		if err != nil || os.SameFile(ours, above) {
			continue
		}
		at, err := os.Stat(dir)
		if err != nil || slices.ContainsFunc(known, func(k os.FileInfo) bool { return os.SameFile(k, at) }) {
			continue
		}
		text, err := f.Read()
		if err != nil || parseHolder(string(text)).Runtime.Endpoint == "" {
			continue
		}
		dirs, known = append(dirs, dir), append(known, at)
	}
	return dirs
}

func isInstanceFile(name string) bool {
	return strings.HasPrefix(name, instancePrefix) && strings.HasSuffix(name, suffix)
}

// mayOwnPods reports whether a process can be a podctl that runs pods. Every container
// and every user of the host may lock a file of any name, and would keep podctl from
// starting pods by that; podctl mounts volumes, so that root's has CAP_SYS_ADMIN in
// podctl's user namespace.
func mayOwnPods(all proc.FS, pid int) bool {
	if os.Geteuid() != 0 {
		return true // only processes of the same user can be read
	}
	p, err := all.Read(pid)
	if err != nil || !p.Capabilities.Has(proc.SysAdmin) {
		return false
	}
	theirs, err := all.Namespace(pid, "user")
	if err != nil {
		return false
	}
	ours, err := all.Namespace(os.Getpid(), "user")
	return err == nil && theirs == ours
}
