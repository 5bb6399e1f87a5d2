package cgroup

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// lock keeps podctls, and the goroutines of one, from making a pod's parents
// and removing them at the same time. It is a lock on the directory of all
// hierarchies, which the kernel lets go of when its holder dies. One goroutine
// at a time waits for it: each that did would have a thread, which stays.
func lock() (unlock func(), err error) {
	within.Lock()
	defer func() {
		if err != nil {
			within.Unlock()
		}
	}()
	dir, err := os.Open(mountPoint)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "flock", Path: mountPoint, Err: err}, dir.Close())
	}
	return func() {
		_ = dir.Close() // which lets the lock go; nobody reads from it
		within.Unlock()
	}, nil
}

// within is held by the goroutine of this process that has the lock, or waits
// for it.
var within sync.Mutex
