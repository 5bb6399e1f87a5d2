package cgroup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// Any user can lock a directory that it can open, such as that of all cgroups.
func TestLockDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	m := &Manager{runDir: dir}
	hierarchies, err := os.Open(Mounts)
	if err != nil {
		t.Skip(err)
	}
	defer hierarchies.Close()
	if err := unix.Flock(int(hierarchies.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Skip(err) // it is held
	}
	unlock, err := m.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("run directory: %v, %v", info, err)
	}
}

func TestLockWaitIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	holder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := unix.Flock(int(holder.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	m := &Manager{runDir: dir}
	if _, err := m.lock(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait whose context ends: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		defer func(old chan struct{}) { within = old }(within)
		within = make(chan struct{}, 1)
		begin := time.Now()
		if _, err := m.lock(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != lockTimeout {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}
