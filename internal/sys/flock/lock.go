//go:build unix

package flock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// The interval between two attempts doubles from the first to the last.
const (
	firstRetry = time.Millisecond
	lastRetry  = 100 * time.Millisecond
)

// Lock takes the exclusive lock on the file at path and returns the function
// that releases it. It creates the file, with mode 0600, but not its directory,
// and does not follow a symlink at path. While another open file holds the
// lock it waits; when ctx ends first, the error wraps ctx.Err(). What was removed
// meanwhile is opened again.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	return lock(ctx, path, unix.O_RDWR|unix.O_CREAT)
}

// fileOfDir is the lock file of a directory that other users can read.
const fileOfDir = ".podctl.lock"

// LockDir is Lock on a directory, which leaves no file behind. Other users can lock a
// directory that they can read: then a file in it is locked instead, and stays. They
// must not be able to write in the directory.
func LockDir(ctx context.Context, dir string) (unlock func(), err error) {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o044 != 0 {
		return Lock(ctx, filepath.Join(dir, fileOfDir))
	}
	return lock(ctx, dir, unix.O_RDONLY|unix.O_DIRECTORY)
}

func lock(ctx context.Context, path string, flags int) (unlock func(), err error) {
	open := func() (fd int, err error) {
		if fd, err = unix.Open(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600); err != nil {
			err = &os.PathError{Op: "open lock", Path: path, Err: err}
		}
		return fd, err
	}
	fd, err := open()
	if err != nil {
		return nil, err
	}
	var leave func()
	defer func() {
		if leave != nil {
			leave()
		}
	}()
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && isAt(path, fd) {
			return func() { _ = unix.Close(fd) }, nil // nothing was written
		}
		if err == nil { // a lock that the next one at path would not see
			_ = unix.Close(fd)
			if fd, err = open(); err != nil {
				return nil, err
			}
			continue
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = unix.Close(fd) // the error says enough
			return nil, &os.PathError{Op: "flock", Path: path, Err: err}
		}
		if leave == nil {
			leave = Queue(ctx, path)
		}
		select {
		case <-ctx.Done():
			_ = unix.Close(fd) // nothing was written
			return nil, &os.PathError{Op: "wait for lock", Path: path, Err: ctx.Err()}
		case <-time.After(retry):
		}
	}
}

// isAt reports whether the open file is still the one at path.
func isAt(path string, fd int) bool {
	var opened, there unix.Stat_t
	return unix.Fstat(fd, &opened) == nil && unix.Lstat(path, &there) == nil && opened.Dev == there.Dev && opened.Ino == there.Ino
}
