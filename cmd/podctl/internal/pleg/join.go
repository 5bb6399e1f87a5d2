package pleg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// joining is a command with a PLEG that has not reached its runtime yet, or has.
type joining struct {
	env *shell.Env
	// retries: a runtime that does not answer is tried again. An observer serves health
	// meanwhile: to restart it does not repair a runtime.
	retries bool

	mu      sync.Mutex
	session *session // nil before it has joined
	failure error    // of the last attempt
}

// joinPause is the time between two attempts to reach the runtime.
const joinPause = 2 * time.Second

// errJoining is why an observer is not ready before its first attempt has ended.
var errJoining = errors.New("not connected to the runtime yet")

// healthy is the readiness of the PLEG.
func (j *joining) healthy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.session != nil {
		return j.session.Healthy()
	}
	return cmp.Or(j.failure, errJoining)
}

func (j *joining) set(session *session, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.session, j.failure = session, err
}

// join is like open but is canceled by the first interrupt. With retries a runtime that does not
// answer is tried again until then. The session is nil if there is an error.
func (j *joining) join(ctx context.Context, g shell.Globals, o sessionOptions) (session *session, err error) {
	err = j.env.UntilInterrupted(ctx, func(ctx context.Context) error {
		for warned := false; ; warned = true {
			session, err = open(ctx, j.env, g, o)
			j.set(session, err)
			if err == nil || !j.retries || shell.ExitCode(err) != shell.ExitUnreachable {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !warned {
				shell.PrintError(j.env.Errw, fmt.Errorf("the runtime is tried again every %s: %w", joinPause, err))
			}
			if err := shell.Sleep(ctx, joinPause); err != nil {
				return err
			}
		}
	})
	if err != nil && session != nil { // interrupted when it had joined
		j.set(nil, err)
		session.Close()
		return nil, err
	}
	return session, err
}
