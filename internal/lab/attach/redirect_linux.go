package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/lab/relay"
)

const (
	// A connection is quiet when the caller has read all that the runtime sent at quietLooks
	// looks, quietPause apart: the runtime is then not between two parts of a frame.
	quietLooks = 15
	quietPause = 2 * time.Millisecond
	// quietTime bounds the wait for that.
	quietTime = 2 * time.Second
)

// errBusy is the error of a connection that is not quiet.
var errBusy = errors.New("there was no quiet moment")

// Redirect asks the callers that are connected to make their next calls on new
// connections; calls in flight go on. It returns how many connections were asked now, and
// how many stay because they were not quiet: it may be called again for these.
func (r *Runtime) Redirect(ctx context.Context) (asked, busy int, err error) {
	connections, err := r.connections()
	if err != nil {
		return 0, 0, err
	}
	connections = slices.DeleteFunc(connections, func(c connection) bool { return r.asked[c.inode] })
	results := make([]error, len(connections))
	var all sync.WaitGroup
	for i, c := range connections {
		all.Go(func() { results[i] = r.redirect(ctx, c) })
	}
	all.Wait()
	for i, c := range connections {
		switch {
		case results[i] == nil:
			asked++
			r.asked[c.inode] = true
		case errors.Is(results[i], errBusy):
			busy++
		}
	}
	return asked, busy, nil
}

// redirect writes GOAWAY to the caller in a quiet moment. Another error than errBusy means
// that the connection has ended.
func (r *Runtime) redirect(ctx context.Context, c connection) error {
	fd, err := r.duplicate(c)
	if err != nil {
		return err
	}
	// While it is held the connection stays open, even if the runtime closes it.
	defer func() { _ = unix.Close(fd) }()
	ctx, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	for quiet := 0; ctx.Err() == nil; time.Sleep(quietPause) {
		unread, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		if err != nil {
			return err
		}
		if quiet++; unread != 0 {
			quiet = 0
		}
		if quiet >= quietLooks {
			return unix.Sendto(fd, relay.GoAway, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
		}
	}
	return errBusy
}

// Create binds the socket that is to take the place of a runtime's.
func (r *Runtime) Create() (*Swap, *net.UnixListener, error) { return create(r.Path) }

// watchPause is how often Watch looks at the socket.
const watchPause = 200 * time.Millisecond

// Watch returns why the trace has to end: the runtime has exited, or somebody has
// replaced the socket. It returns nil when ctx ends.
func (r *Runtime) Watch(ctx context.Context, s *Swap) error {
	for ctx.Err() == nil {
		if err := r.exited(watchPause); err != nil {
			return err
		}
		if !s.placed() {
			return fmt.Errorf("%s was replaced by another process", s.Path)
		}
	}
	return nil
}

// Exited returns an error if the runtime's process has exited, as it does in a restart.
func (r *Runtime) Exited() error { return r.exited(0) }

// exited waits until the runtime's process exits, which is an error, at most for a time.
func (r *Runtime) exited(within time.Duration) error {
	poll := []unix.PollFd{{Fd: int32(r.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, int(within.Milliseconds()))
	switch {
	case err != nil && !errors.Is(err, unix.EINTR):
		return fmt.Errorf("observe the runtime (pid %d): %w", r.PID, err)
	case n > 0:
		return fmt.Errorf("%s (pid %d) has exited", r.Comm, r.PID)
	}
	return nil
}
