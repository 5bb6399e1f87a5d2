package owner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/sys/proc"
)

// JoinOptions say which instance of which runtime a process becomes.
type JoinOptions struct {
	// Run is the run directory, ID the id of the runtime by its endpoint.
	Run, ID string
	// Instance is the name of the instance.
	Instance string
	Runtime  Runtime
	// Procs are the processes of the machine.
	Procs proc.FS
}

// joinTimeout bounds the wait for other processes that join, and restoreTimeout
// the wait for a living process that has yet to restore its deleted locks.
const (
	joinTimeout    = 10 * time.Second
	restoreTimeout = 5 * time.Second
	restorePause   = 100 * time.Millisecond
)

// Join is Open in the directory of the runtime, whatever endpoint leads to it: if a
// living instance uses the same runtime by another one, that is its directory. Of
// two processes that join at the same time one sees the other.
func Join(ctx context.Context, o JoinOptions) (*Locks, error) {
	if err := os.MkdirAll(o.Run, 0o700); err != nil {
		return nil, fmt.Errorf("make run directory: %w", err)
	}
	holders := ReadLockHolders(o.Procs) // before others have to wait
	waiting, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	unlock, err := flock.LockDir(waiting, o.Run)
	if err != nil {
		return nil, fmt.Errorf("lock run directory: %w", err)
	}
	defer unlock()
	for begin := time.Now(); ; {
		locks, err := join(o, holders)
		held, isHeld := errors.AsType[*HeldError](err)
		if !isHeld || !held.Deleted || time.Since(begin) > restoreTimeout {
			return locks, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(restorePause):
		}
	}
}

func join(o JoinOptions, holders LockHolders) (*Locks, error) {
	dir := filepath.Join(o.Run, o.ID)
	same, err := directoryOf(o)
	if err != nil {
		return nil, err
	}
	if same != "" {
		dir = same
	}
	return openAs(dir, newHolder(o.Instance, o.Runtime, o.Procs), holders.recent())
}

// directoryOf returns the directory of a living instance that uses the runtime,
// "" if there is none but that of its id.
func directoryOf(o JoinOptions) (string, error) {
	dirs, err := filepath.Glob(filepath.Join(o.Run, "*"))
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if filepath.Base(dir) == o.ID {
			continue
		}
		living, err := LiveInstances(dir)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return "", err
		}
		for _, h := range living {
			if h.Runtime.Same(o.Runtime) {
				return dir, nil
			}
		}
	}
	return "", nil
}

// dirSettleTime is how long ago a directory must have changed for another change to show in
// its time: file systems count in up to 2 s.
const dirSettleTime = 3 * time.Second

// Restore takes the locks again whose files were deleted, with the directory or
// without. restored reports whether there were any. The error joins one for each
// lock that could not be taken, a *HeldError if another podctl has it now; those
// are tried again by the next call. Until then they guard nothing.
//
// Where nothing was created in the directory or deleted from it since the last call, no
// file is looked at.
func (l *Locks) Restore() (restored bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unchanged() {
		return false, nil
	}
	at, err := os.Stat(l.dir)
	unsure := err != nil || time.Since(at.ModTime()) < dirSettleTime
	var errs []error
	again := func(f *os.File, h Holder, what string) *os.File {
		same, err := isAt(f, f.Name())
		unsure = unsure || err != nil || !same
		if err != nil || same {
			return f // one that cannot be read is not known to be gone
		}
		next, err := openLock(f.Name(), h)
		if err != nil {
			errs = append(errs, asHeldError(err, f.Name(), what, l.holder.Runtime, l.procs))
			return f
		}
		restored = true
		_ = f.Close() // nothing was written
		return next
	}
	l.self = again(l.self, l.holder, fmt.Sprintf("instance %q", l.holder.Name))
	for _, name := range slices.Sorted(maps.Keys(l.names)) {
		l.names[name] = again(l.names[name], Holder{Name: l.holder.Name, ID: l.holder.ID}, fmt.Sprintf("pod %q", name))
	}
	if l.whole = at; unsure {
		l.whole = nil
	} else {
		l.holders = ReadLockHolders(l.procs)
	}
	return restored, errors.Join(errs...)
}
