package relay

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/proc"
)

// PeerOf identifies the process at the other end of a unix socket, by SO_PEERCRED.
func PeerOf(c net.Conn) Caller {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return Caller{}
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return Caller{}
	}
	var caller Caller
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			caller.PID = int(peer.Pid)
		}
	})
	if p, err := proc.Default.Read(caller.PID); caller.PID != 0 && err == nil {
		caller.Comm = p.Comm
	}
	return caller
}
