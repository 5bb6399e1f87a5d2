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
}

func (e *HeldError) Error() string {
	if e.Owner == "" {
		return e.What + " is managed by another podctl"
	}
	process := ""
	if e.PID != 0 {
		process = fmt.Sprintf(" (pid %d)", e.PID)
	}
	return fmt.Sprintf("%s is managed by the living podctl %q%s", e.What, e.Owner, process)
}

// Hint says how to resolve it.
func (e *HeldError) Hint() string {
	return "stop that podctl, or wait for it: the pod starts once its name is released"
}

// Locks are the locks that one instance holds. Use Open; the zero value is
// not usable.
type Locks struct {
	dir      string
	instance string
	self     *os.File

	mu sync.Mutex
	// names holds an open, locked file for each claimed full name.
	names map[string]*os.File
}

// Open makes dir if need be, and takes the lock of the instance of that
// name. The error is a *HeldError where such an instance lives. What podctls
// that were killed left in dir is removed.
func Open(dir, instance string) (*Locks, error) {
	path := instancePath(dir, instance)
	f, err := openLock(path, instance)
	if err != nil {
		return nil, heldOr(err, path, fmt.Sprintf("instance %q", instance))
	}
	sweep(dir)
	return &Locks{dir: dir, instance: instance, self: f, names: map[string]*os.File{}}, nil
}

// openLock takes a lock in a directory that it makes. The directory may go in
// between, with the last one who had a lock in it, and so it tries again.
func openLock(path, holder string) (f *os.File, err error) {
	for range 100 {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = CheckDir(filepath.Dir(path))
		}
		if err == nil {
			f, err = lockFile(path, holder)
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// Instance is the name that Open was given.
func (l *Locks) Instance() string { return l.instance }

// Runtime is the name of the directory, which there is one of for each runtime.
func (l *Locks) Runtime() string { return filepath.Base(l.dir) }

// Claim takes the lock of a pod's full name, and does nothing where this
// instance has it already. The error is a *HeldError where another has it.
func (l *Locks) Claim(fullName string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.names[fullName]; ok {
		return nil
	}
	path := namePath(l.dir, fullName)
	f, err := lockFile(path, l.instance)
	if err != nil {
		return heldOr(err, path, fmt.Sprintf("pod %q", fullName))
	}
	l.names[fullName] = f
	return nil
}

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

// HeldOn reports whether a living podctl manages a pod of the full name on the
// runtime of that id, which may be another one than this one's.
func (l *Locks) HeldOn(runtime, fullName string) (bool, error) {
	_, held, err := holderOf(namePath(filepath.Join(filepath.Dir(l.dir), runtime), fullName))
	return held, err
}

// Holder returns which instance manages the pods of a full name now; held is
// false if none does.
func Holder(dir, fullName string) (instance string, held bool, err error) {
	return holderOf(namePath(dir, fullName))
}

func instancePath(dir, instance string) string {
	return filepath.Join(dir, "instance-"+url.PathEscape(instance)+".lock")
}

// maxFileName is the longest name of a file, in bytes (NAME_MAX).
const maxFileName = 255

// namePath is the lock file of a full name; a name that is too long for one is
// cut, and its hash put after it.
func namePath(dir, fullName string) string {
	const prefix, suffix = "pod-", ".lock"
	file := url.PathEscape(fullName)
	if room := maxFileName - len(prefix) - len(suffix); len(file) > room {
		sum := sha256.Sum256([]byte(fullName))
		hash := "-" + hex.EncodeToString(sum[:16])
		file = file[:room-len(hash)] + hash
	}
	return filepath.Join(dir, prefix+file+suffix)
}

// heldOr turns errHeld into a *HeldError that names the holder.
func heldOr(err error, path, what string) error {
	if !errors.Is(err, errHeld) {
		return fmt.Errorf("lock %s: %w", what, err)
	}
	holder, _, err := holderOf(path)
	if err != nil {
		holder = ""
	}
	return &HeldError{What: what, Owner: holder, PID: holderPID(path)}
}
