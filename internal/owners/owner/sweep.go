package owner

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// sweep removes the lock files that are not held: those of podctls that were
// killed. What it cannot remove does no harm.
//
// It asks with shared locks, so that a podctl that wants to take one meanwhile sees
// that it is not held and tries again. While it has one, no holder can replace
// the file, and no other sweeper, for there is one at a time.
func sweep(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	if tryFlock(d) != nil {
		return // another podctl sweeps
	}
	files, _ := d.ReadDir(-1) // what cannot be read stays
	for _, f := range files {
		if filepath.Ext(f.Name()) == suffix {
			sweepFile(filepath.Join(dir, f.Name()))
		}
	}
}

func sweepFile(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return
	}
	if same, err := isAt(f, path); err == nil && same {
		_ = os.Remove(path) // the next sweep tries again
	}
}
