package bench

import (
	"context"
	"fmt"
	"time"
)

const (
	// fitWave is how many pods of Max are started at once.
	fitWave = 20
	// readsPerRound and readTime bound the calls of each reading method in a round, execs
	// those of ExecSync, kills those of StopContainer.
	readsPerRound = 200
	readTime      = time.Second
	execs         = 20
	kills         = 20
)

// measure does one round.
func (l *Level) measure(ctx, changes context.Context, subject int, s *Subject, o Options) error {
	r := round{changes: changes, level: l, i: subject, Subject: s, opts: o}
	defer s.Calls.drain()
	s.Calls.drain()
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	if err := r.exec(ctx); err != nil {
		return err
	}
	if err := r.kill(ctx); err != nil {
		return err
	}
	return r.remove(ctx)
}

// round is one round of a subject.
type round struct {
	*Subject
	changes context.Context // see Run
	level   *Level
	i       int // of the subject
	opts    Options
	pods    []*Pod
}

// timed calls do for each number, most at once, and adds the time from the beginning to
// the end of each to a measure, and the calls of the methods to theirs.
func (r *round) timed(ctx context.Context, name string, n, most int, do func(i int) error, methods ...string) error {
	took := make([]time.Duration, n)
	begin := time.Now()
	err := forEach(n, most, func(i int) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := do(i)
		took[i] = time.Since(begin)
		return err
	})
	over := time.Since(begin)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if name != "" {
		r.level.series(name, r.i).Add(over, took...)
	}
	r.add(over, methods...)
	return nil
}

// add adds the calls of the methods that were made in over.
func (r *round) add(over time.Duration, methods ...string) {
	calls := r.Calls.drain()
	for _, m := range methods {
		if took := calls[m]; len(took) > 0 {
			r.level.series(m, r.i).Add(over, took...)
		}
	}
}

var startMethods = []string{"RunPodSandbox", "CreateContainer", "StartContainer"}

func (r *round) start(ctx context.Context) error {
	if r.level.Pods == Max {
		return r.fit(ctx)
	}
	return r.startMore(ctx, r.level.Pods)
}

// startMore starts pods, all at once. Those that started are in r.pods, also with an error.
func (r *round) startMore(ctx context.Context, n int) error {
	from := len(r.pods)
	started := make([]*Pod, n)
	err := r.timed(ctx, PodStarted, n, n, func(i int) (err error) {
		started[i], err = r.Pods.Start(r.changes, from+i)
		return err
	}, startMethods...)
	for _, p := range started {
		if p != nil {
			r.pods = append(r.pods, p)
		}
	}
	return err
}

// fit starts pods until the runtime fails to start one, or the host has no room.
func (r *round) fit(ctx context.Context) error {
	full := fmt.Errorf("%d are the most that are tried", MaxLimit)
	for len(r.pods) < MaxLimit {
		if err := r.opts.Room(); err != nil {
			full = err
			break
		}
		if err := r.startMore(ctx, fitWave); err != nil {
			if ctx.Err() != nil || len(r.pods) == 0 {
				return err
			}
			full = firstError(err)
			break
		}
	}
	r.level.Fitted[r.i], r.level.Full[r.i] = len(r.pods), full
	return nil
}

// firstError returns the first of joined errors.
func firstError(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
		return firstError(joined.Unwrap()[0])
	}
	return err
}

// read makes the calls of lists and statuses.
func (r *round) read(ctx context.Context) error {
	for _, read := range []struct {
		methods []string
		call    func(i int) error
	}{
		{[]string{"ListPodSandbox", "ListContainers"}, func(int) error {
			_, err := r.Pods.Client.ListPods(ctx)
			return err
		}},
		{[]string{"PodSandboxStatus"}, func(i int) error {
			_, err := r.Pods.Client.SandboxReady(ctx, r.pods[i%len(r.pods)].SandboxID)
			return err
		}},
		{[]string{"ContainerStatus"}, func(i int) error {
			_, err := r.Pods.Client.ContainerStatus(ctx, r.pods[i%len(r.pods)].ContainerID)
			return err
		}},
	} {
		until := time.Now().Add(readTime)
		err := r.timed(ctx, "", readsPerRound, r.opts.Callers, func(i int) error {
			if time.Now().After(until) {
				return nil
			}
			return read.call(i)
		}, read.methods...)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *round) exec(ctx context.Context) error {
	if r.Exec == nil {
		return nil
	}
	return r.timed(ctx, "", execs, 1, func(i int) error {
		_, err := r.Pods.Client.ExecSync(ctx, r.pods[i%len(r.pods)].ContainerID, r.Exec, execTimeout)
		return err
	}, "ExecSync")
}

// exitTimeout bounds the wait for an event.
const exitTimeout = 30 * time.Second

// kill stops containers without grace, one after the other, and waits for the runtime's
// event of each.
func (r *round) kill(ctx context.Context) error {
	killed := r.pods[:min(len(r.pods), kills)]
	lags := make([]time.Duration, len(killed))
	begin := time.Now()
	err := r.timed(ctx, "", len(killed), 1, func(i int) (err error) {
		lags[i], err = r.killOne(ctx, killed[i])
		return err
	}, "StopContainer")
	if err != nil {
		return err
	}
	r.level.series(ExitToEvent, r.i).Add(time.Since(begin), lags...)
	return nil
}

// killOne returns the time from the exit to its event.
func (r *round) killOne(ctx context.Context, p *Pod) (time.Duration, error) {
	if err := r.Pods.Client.StopContainer(r.changes, p.ContainerID, 0); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	return r.Pods.ExitLag(ctx, r.exits, p)
}

func (r *round) remove(ctx context.Context) error {
	return r.timed(ctx, PodRemoved, len(r.pods), len(r.pods), func(i int) error {
		return r.Pods.Remove(r.changes, r.pods[i])
	}, "StopPodSandbox", "RemovePodSandbox")
}
