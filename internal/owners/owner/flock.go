package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errHeld: another open file holds the lock.
var errHeld = errors.New("lock is held")

// A lock that is only being asked about is tried again after lockRetry, no more
// than lockTries times: those who ask hold it for a moment, but may be suspended.
const (
	lockRetry = time.Millisecond
	lockTries = 100
)

// lockFile takes the lock at path and writes its holder into it, or returns
// errHeld. A lock file is unlinked by its holder before the lock is released,
// so a lock counts only while its file is still the one at path.
func lockFile(path string, holder Holder) (*os.File, error) {
	for tries := 1; ; tries++ {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := tryFlock(f); err != nil {
			_ = f.Close() // nothing was written
			if _, held, herr := holderOf(path); tries < lockTries && errors.Is(err, errHeld) && herr == nil && !held {
				time.Sleep(lockRetry)
				continue // it was only being asked about, see holderOf
			}
			return nil, err
		}
		same, err := isAt(f, path)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if !same {
			_ = f.Close() // unlinked between open and flock: it guards nothing
			continue
		}
		if err := write(f, holder); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

// unlockFile releases the lock and leaves no file behind. A file that is no
// longer the lock's, because it was deleted, is left alone.
func unlockFile(f *os.File) error {
	same, err := isAt(f, f.Name())
	if err == nil && same {
		err = os.Remove(f.Name())
	}
	return errors.Join(err, f.Close())
}

// holderOf reads which process holds the lock at path; held is false if it is
// free. It asks by taking a shared lock for a moment.
func holderOf(path string) (holder Holder, held bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, err
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case err == nil:
		return Holder{}, false, nil
	case !errors.Is(err, unix.EWOULDBLOCK):
		return Holder{}, false, fmt.Errorf("flock %s: %w", path, err)
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Holder{}, true, err
	}
	return parseHolder(string(b)), true, nil
}

func tryFlock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

func isAt(f *os.File, path string) (bool, error) {
	at, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(mine, at), nil
}

func write(f *os.File, holder Holder) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(holder.text()), 0)
	return err
}
