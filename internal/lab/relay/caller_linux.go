package relay

import (
	"net"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/proc"
)

// backgroundNice is the nice value of decoders: the calls that pass go first.
const backgroundNice = 10

// lowerPriority gives the calling goroutine a thread of its own at a lower priority. The thread
// ends with the goroutine.
func lowerPriority() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), backgroundNice) // else it runs as the calls do
}

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
