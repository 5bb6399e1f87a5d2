package host

import (
	"net"

	"golang.org/x/sys/unix"
)

// serverPID returns the process that serves a unix socket, 0 if it is not visible.
func serverPID(path string) int {
	conn, err := net.DialTimeout("unix", path, socketTimeout)
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	if err != nil {
		return 0
	}
	return pid
}
