//go:build unix

package handler

import "syscall"

func linger(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		// Without it a port is taken for longer, no more.
		_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1, Linger: 1})
	})
}
