package unixdiag

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// InodeAndPeer returns the inode of our end of a connection, and the process at the
// other one, 0 if that is in another PID namespace.
func InodeAndPeer(conn *net.UnixConn) (inode uint32, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var stat unix.Stat_t
	var cred *unix.Ucred
	var statErr, credErr error
	err = raw.Control(func(fd uintptr) {
		statErr = unix.Fstat(int(fd), &stat)
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, statErr, credErr); err != nil {
		return 0, 0, err
	}
	return uint32(stat.Ino), int(cred.Pid), nil
}
