package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// joining is an observer that has not reached its runtime yet, or has.
type joining struct {
	env *shell.Env
	// patient: a runtime that does not answer is tried again. Health is served
	// meanwhile: to restart an observer does not repair a runtime.
	patient bool

	mu      sync.Mutex
	session *plegSession // nil before it has joined
	failure error        // of the last attempt
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

func (j *joining) set(session *plegSession, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.session, j.failure = session, err
}

// join connects to the runtime, until an interrupt.
func (j *joining) join(ctx context.Context, g shell.Globals, o plegOptions) (*plegSession, error) {
	warned := false
	for {
		session, err := beginPLEG(ctx, j.env, g, o)
		j.set(session, err)
		if err == nil || !j.patient || shell.ExitCode(err) != shell.ExitUnreachable {
			return session, err
		}
		if !warned {
			warned = true
			shell.PrintError(j.env.Errw, fmt.Errorf("the runtime is tried again every %s: %w", joinPause, err))
		}
		if err := j.env.UntilInterrupted(ctx, func(ctx context.Context) error { return shell.Sleep(ctx, joinPause) }); err != nil {
			return nil, err
		}
	}
}
