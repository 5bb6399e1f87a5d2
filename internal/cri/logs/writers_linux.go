package logs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hasWriters reports whether any process has the file open for writing; known
// is false where the file system cannot tell. A read lease is granted only for
// a file without writers; it is given back at once.
func hasWriters(f *os.File) (writers, known bool) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, true
	case errors.Is(err, unix.EAGAIN):
		return true, true
	}
	return false, false
}
