package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/podctl/podctl/internal/sys/proc"
)

// HeldError says that a living podctl holds the lock that was asked for.
type HeldError struct {
	// What is held: `pod "web_default"` or `instance "agent"`.
	What string
	// Owner is the name of the instance that holds it, "" in the moment
	// before it has written its name.
	Owner string
	// PID is its process, 0 where that is not known.
	PID int
	// Endpoint is the endpoint by which that process uses the runtime, "" if it is
	// the one that was asked for or not known.
	Endpoint string
	// Deleted: the file of its lock was deleted, and it has yet to restore it.
	Deleted bool
}

func (e *HeldError) Error() string {
	if e.Owner == "" {
		return e.What + " is managed by another podctl"
	}
	process := ""
	if e.PID != 0 {
		process = fmt.Sprintf(" (pid %d)", e.PID)
	}
	text := fmt.Sprintf("%s is managed by the living podctl %q%s", e.What, e.Owner, process)
	if e.Endpoint != "" {
		text += ", which uses this runtime by " + e.Endpoint
	}
	if e.Deleted {
		text += ", whose lock was deleted and is not restored yet"
	}
	return text
}

// Hint says how to resolve it.
func (e *HeldError) Hint() string {
	if e.Deleted {
		return "it restores its locks within seconds unless it is suspended: try again, or stop it"
	}
	return "stop that podctl, or wait for it: the pod starts once its name is released"
}

// Locks are the locks that one instance holds. Use Open; the zero value is
// not usable.
type Locks struct {
	dir    string
	holder Holder
	self   *os.File
	procs  proc.FS

	mu sync.Mutex
	// names holds an open, locked file for each claimed full name.
	names map[string]*os.File
	// holders are the processes that held locks when the directory was joined, or when
	// whole was set.
	holders LockHolders
	// whole is the directory as it was when all locks were last seen to be in it, before
	// holders were read; nil says nothing.
	whole os.FileInfo
}

// Open makes dir if need be, and takes the lock of the instance of that
// name. The error is a *HeldError where such an instance lives, or where a living
// process has yet to restore locks that were deleted from dir; a *LocksError where that
// cannot be seen among procs. What podctl processes that were killed left in dir is removed.
func Open(dir, instance string, procs proc.FS) (*Locks, error) {
	return openAs(dir, newHolder(instance, Runtime{}, procs), ReadLockHolders(procs))
}

func openAs(dir string, h Holder, holders LockHolders) (*Locks, error) {
	path := instancePath(dir, h.Name)
	what := fmt.Sprintf("instance %q", h.Name)
	if holders.err != nil {
		return nil, fmt.Errorf("lock %s: %w", what, holders.err)
	}
	if lost, any := holders.wait(filepath.Dir(dir), func(l DeletedLock) bool { return l.dir == filepath.Base(dir) }); any {
		return nil, lost.heldError(what)
	}
	f, err := openLock(path, h)
	if err != nil {
		return nil, asHeldError(err, path, what, h.Runtime, holders.procs)
	}
	sweep(dir)
	return &Locks{dir: dir, holder: h, self: f, procs: holders.procs, names: map[string]*os.File{}, holders: holders}, nil
}

// openLock takes a lock in a directory that it makes. The directory may be removed
// meanwhile by the last process that had a lock in it: it is then made again.
func openLock(path string, h Holder) (f *os.File, err error) {
	for range 100 {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = CheckDir(filepath.Dir(path))
		}
		if err == nil {
			f, err = lockFile(path, h)
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// Instance is the name that Open was given.
func (l *Locks) Instance() string { return l.holder.Name }

// ID is unique to this process: see Holder.
func (l *Locks) ID() string { return l.holder.ID }

// Dir is the directory of the locks, which there is one of for each runtime.
func (l *Locks) Dir() string { return l.dir }

// Identity is what the runtime is recognized by.
func (l *Locks) Identity() Runtime { return l.holder.Runtime }

// Fingerprint is that of the runtime: see Runtime.
func (l *Locks) Fingerprint() string { return l.holder.Runtime.Fingerprint() }

// Runtime is the name of that directory.
func (l *Locks) Runtime() string { return filepath.Base(l.dir) }

// unchanged reports whether nothing was created in the directory or deleted from it since
// it was seen to be whole. So holders lacks no process whose lock was deleted from it,
// however long ago they were read: the lock was deleted, and so taken, before. l.mu is held.
func (l *Locks) unchanged() bool {
	if l.whole == nil {
		return false
	}
	at, err := os.Stat(l.dir)
	return err == nil && os.SameFile(at, l.whole) && at.ModTime().Equal(l.whole.ModTime())
}

// Claim takes the lock of a pod's full name, and does nothing where this
// instance has it already. The error is a *HeldError where another has it.
func (l *Locks) Claim(fullName string) error { return l.ClaimAll([]string{fullName})()[0] }

// ClaimAll is Claim for several full names. When it returns, other processes find
// them held, whatever may have to wait for the kernel: settle, which must be called, waits
// for it, and returns an error or nil for each name. The open files of other processes,
// which may be many, are looked at once for all.
func (l *Locks) ClaimAll(fullNames []string) (settle func() []error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.unchanged()
	errs, claimed := make([]error, len(fullNames)), map[string]int{} // by the name of the file
	for i, fullName := range fullNames {
		if _, ok := l.names[fullName]; ok {
			continue
		}
		path := namePath(l.dir, fullName)
		f, err := lockFile(path, Holder{Name: l.holder.Name, ID: l.holder.ID})
		if err != nil {
			errs[i] = asHeldError(err, path, podOf(fullName), l.holder.Runtime, l.procs)
			continue
		}
		l.names[fullName], claimed[filepath.Base(path)] = f, i
	}
	others := l.holders
	return func() []error {
		if len(claimed) == 0 {
			return errs
		}
		if !known {
			others = others.recent()
		}
		l.releaseClaimed(fullNames, claimed, errs, others)
		return errs
	}
}

// releaseClaimed releases those of the claimed names that another process has a lock of whose
// file was deleted; all of them where that cannot be seen.
func (l *Locks) releaseClaimed(fullNames []string, claimed map[string]int, errs []error, holders LockHolders) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := filepath.Dir(l.dir)
	release := func(file string, why error) {
		i, ok := claimed[file]
		if ok && errs[i] == nil && l.names[fullNames[i]] != nil {
			errs[i] = errors.Join(why, unlockFile(l.names[fullNames[i]]))
			delete(l.names, fullNames[i])
		}
	}
	if holders.err != nil {
		for file := range claimed {
			release(file, fmt.Errorf("lock %s: %w", podOf(fullNames[claimed[file]]), holders.err))
		}
	}
	for _, lost := range holders.deletedLocks(run) {
		i, ok := claimed[lost.file]
		if !ok || lost.dir != l.Runtime() || errs[i] != nil {
			continue
		}
		same := func(other DeletedLock) bool { return other.dir == lost.dir && other.file == lost.file }
		if lost, any := holders.wait(run, same); any {
			release(lost.file, lost.heldError(podOf(fullNames[i])))
		}
	}
	for i, fullName := range fullNames { // a name that is there twice
		if _, ok := l.names[fullName]; !ok && errs[i] == nil {
			errs[i] = errs[claimed[filepath.Base(namePath(l.dir, fullName))]]
		}
	}
}

// podOf is what the lock of a full name stands for.
func podOf(fullName string) string { return fmt.Sprintf("pod %q", fullName) }

// Release releases a full name. For a name that is not held it does nothing.
func (l *Locks) Release(fullName string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.names[fullName]
	if !ok {
		return nil
	}
	delete(l.names, fullName)
	return unlockFile(f)
}

// Close releases everything, the instance last. The directory is removed
// once it is empty.
func (l *Locks) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for name, f := range l.names {
		errs = append(errs, unlockFile(f))
		delete(l.names, name)
	}
	errs = append(errs, unlockFile(l.self))
	_ = os.Remove(l.dir) // fails while another instance has a lock in it
	return errors.Join(errs...)
}

// Alive reports whether an instance of that name lives.
func Alive(dir, instance string) (bool, error) {
	_, held, err := holderOf(instancePath(dir, instance))
	return held, err
}

// IsHeldOn reports whether a living podctl manages a pod of the full name on the
// runtime of that id, which may be another one than this one's.
func (l *Locks) IsHeldOn(runtime, fullName string) (bool, error) {
	_, held, err := holderOf(namePath(filepath.Join(filepath.Dir(l.dir), runtime), fullName))
	return held, err
}

// HolderOf returns which process manages the pods of a full name now; held is
// false if none does.
func HolderOf(dir, fullName string) (h Holder, held bool, err error) {
	return holderOf(namePath(dir, fullName))
}

// Names of lock files.
const (
	instancePrefix = "instance-"
	namePrefix     = "pod-"
	suffix         = ".lock"
)

func instancePath(dir, instance string) string {
	return filepath.Join(dir, instancePrefix+url.PathEscape(instance)+suffix)
}

// maxFileName is the longest name of a file, in bytes (NAME_MAX).
const maxFileName = 255

// namePath is the lock file of a full name; a name that is too long for one is
// cut, and its hash put after it.
func namePath(dir, fullName string) string {
	file := url.PathEscape(fullName)
	if room := maxFileName - len(namePrefix) - len(suffix); len(file) > room {
		sum := sha256.Sum256([]byte(fullName))
		hash := "-" + hex.EncodeToString(sum[:16])
		file = file[:room-len(hash)] + hash
	}
	return filepath.Join(dir, namePrefix+file+suffix)
}

// asHeldError turns errHeld into a *HeldError that names the holder. runtime is the one
// of the process that asks.
func asHeldError(err error, path, what string, runtime Runtime, procs proc.FS) error {
	if !errors.Is(err, errHeld) {
		return fmt.Errorf("lock %s: %w", what, err)
	}
	held := &HeldError{What: what, PID: procs.LockHolder(path)}
	holder, _, err := holderOf(path)
	if err != nil {
		return held
	}
	held.Owner = holder.Name
	instance, _, err := holderOf(instancePath(filepath.Dir(path), holder.Name))
	if err == nil && runtime.Endpoint != "" && instance.Runtime.Endpoint != runtime.Endpoint {
		held.Endpoint = instance.Runtime.Endpoint
	}
	return held
}
