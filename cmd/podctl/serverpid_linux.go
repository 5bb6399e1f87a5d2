package main

import (
	"net"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/cri"
)

// serverPID is the process that serves the runtime's socket, 0 if that cannot
// be told.
func serverPID(endpoint cri.Endpoint) int {
	path, isUnix := strings.CutPrefix(endpoint.Runtime, "unix://")
	if !isUnix {
		return 0
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return 0
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(peer.Pid)
		}
	})
	return pid
}
