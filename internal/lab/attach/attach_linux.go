package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Create binds the socket that is to take the place of a runtime's.
func (r *Runtime) Create() (*Swap, *net.UnixListener, error) { return create(r.Path) }

// watchPause is how often Watch looks at the socket.
const watchPause = 200 * time.Millisecond

// Watch returns why the trace has to step aside: the runtime has exited, or somebody has
// replaced the socket. It returns nil when ctx ends.
func (r *Runtime) Watch(ctx context.Context, s *Swap) error {
	for ctx.Err() == nil {
		poll := []unix.PollFd{{Fd: int32(r.pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, int(watchPause.Milliseconds()))
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("observe the runtime (pid %d): %w", r.PID, err)
		case n > 0:
			return fmt.Errorf("%s (pid %d) has exited", r.Comm, r.PID)
		case !s.placed():
			return fmt.Errorf("%s was replaced by another process", s.Path)
		}
	}
	return nil
}
