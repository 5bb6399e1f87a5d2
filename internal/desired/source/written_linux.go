package source

import (
	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// isWritten reports whether no process has the regular file open for writing. It is
// false where that is not known: some file systems have no leases, and those of
// another user's file need CAP_LEASE.
func isWritten(path string) bool {
	f, err := bounded.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	// The kernel grants a read lease to a file that no process has open for writing.
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return false
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
