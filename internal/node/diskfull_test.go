package node

import (
	"errors"
	"os/signal"
	"syscall"
	"testing"
)

// fillDisk makes every write to a file fail, of this process, until the function that it
// returns is called.
func fillDisk(t testing.TB) (free func()) {
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 0
	set := func(limit *syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit); err != nil {
			t.Fatal(err)
		}
	}
	set(&none)
	return func() { set(&before) }
}

// isDiskFull reports whether a write failed by fillDisk.
func isDiskFull(err error) bool { return errors.Is(err, syscall.EFBIG) }
