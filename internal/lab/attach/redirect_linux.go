package attach

import (
	"context"
	"errors"
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
