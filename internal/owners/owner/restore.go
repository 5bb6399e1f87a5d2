package owner

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

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
