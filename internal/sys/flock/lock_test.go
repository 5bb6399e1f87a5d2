//go:build unix

package flock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLockAdmitsOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders, done atomic.Int32
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			unlock, err := Lock(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			if n := holders.Add(1); n != 1 {
				t.Errorf("%d holders", n)
			}
			holders.Add(-1)
			done.Add(1)
		})
	}
	all.Wait()
	if done.Load() != 10 {
		t.Errorf("%d of 10 took the lock", done.Load())
	}
}

func TestLockWaitEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a held lock: %v, want the context's error", err)
	}
}

func TestADirectoryIsLockedWithoutALockFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := LockDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := LockDir(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("a held lock: %v, want the context's error", err)
	}
	unlock()
	if unlock, err = LockDir(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	unlock()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

// TestARemovedDirectoryIsNotLocked: a process that waited for its lock gets that of the directory in its place.
func TestARemovedDirectoryIsNotLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	mkdir := func() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mkdir()
	unlock, err := LockDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	locked := make(chan error, 1)
	go func() {
		_, err := LockDir(t.Context(), dir)
		locked <- err
	}()
	for len(Current()) == 0 {
		runtime.Gosched()
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	mkdir()
	unlock()
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := LockDir(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("the directory in its place is not locked: %v", err)
	}
}

// Every user can lock a directory that they can read.
func TestALockOnAReadableDirectoryDoesNotKeepPodctlFromLockingIt(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := unix.Flock(int(theirs.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unlock, err := LockDir(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("a held lock: %v, want the context's error", err)
	}
	unlock()
	info, err := os.Stat(filepath.Join(dir, fileOfDir))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the lock file: %v, %v", info, err)
	}
}

func TestLockDoesNotFollowASymlink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.Symlink(target, filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(t.Context(), filepath.Join(dir, "lock")); err == nil {
		t.Error("a lock was taken through a symlink")
	}
	if _, err := os.Lstat(target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the symlink's target was created: %v", err)
	}
}

func TestWaitsForALockAreListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(For(t.Context(), "uid"))
	ended := make(chan error)
	go func() {
		_, err := Lock(ctx, path)
		ended <- err
	}()
	for len(Current()) == 0 {
		runtime.Gosched()
	}
	leave := Queue(For(t.Context(), "next"), path)
	if now := Current(); len(now) != 2 || now[0].For != "uid" || now[1].For != "next" || now[0].Path != path || now[0].Since.After(now[1].Since) {
		t.Errorf("waits: %+v", now)
	}
	leave()
	if now := Current(); len(now) != 1 {
		t.Errorf("waits after one has left: %+v", now)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the lock was taken")
	}
	if now := Current(); len(now) > 0 {
		t.Errorf("waits that have ended: %+v", now)
	}
	unlock()
}
