package podlogs

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// follower follows the containers of a query: their restarts, and new pods of
// the same name.
type follower struct {
	*Reader
	// seen are the ids of the containers whose logs are, or were, followed; ended
	// those that have exited.
	seen, ended map[string]bool
	// idleSince is since when no container can write, zero while one can.
	idleSince time.Time
	// silent: the runtime did not answer the last time.
	silent bool
}

const (
	// followPeriod is the poll interval of the runtime.
	followPeriod = time.Second
	// replaceTime is how long a pod of the same name is waited for.
	replaceTime = 5 * time.Second
)

// run adds the logs of new containers until no more can come.
func (f *follower) run(ctx context.Context, found []*foundLog) {
	defer f.group.Seal()
	f.ended = map[string]bool{}
	fixed := f.Query.Previous || f.Query.Attempt != nil
	for _, l := range found {
		if l.Container != nil {
			f.seen[l.Container.ID] = true
		}
		if fixed && l.err == nil {
			f.group.End(l.Container.ID) // an attempt before the newest one has ended
		}
	}
	if fixed {
		return
	}
	tick := time.NewTicker(followPeriod)
	defer tick.Stop()
	for !f.over(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := f.Session.List(ctx); err != nil {
			if ctx.Err() == nil && !f.silent {
				f.Warn(fmt.Errorf("restarts are not followed: %w", err))
			}
			f.silent = true
			continue
		}
		f.silent = false
	}
}

// over follows what the runtime lists now, and reports whether nothing can follow.
func (f *follower) over(ctx context.Context) bool {
	if f.silent {
		return false
	}
	targets, err := f.Session.Containers(ctx, f.Query)
	if err != nil && len(targets) == 0 && !target.IsGone(err) {
		f.problem(nil, err)
		return true
	}
	listed := map[string]bool{}
	final := len(targets) > 0
	alive := false
	for _, t := range targets {
		if t.Container != nil {
			f.follow(ctx, t, listed)
		}
		switch f.stateOf(ctx, t) {
		case writes:
			alive = true
		case mayBeReplaced:
			final = false
		case finished:
		}
	}
	for id := range f.seen {
		if !listed[id] {
			f.end(id)
		}
	}
	switch {
	case alive:
		f.idleSince = time.Time{}
	case final:
		return true
	case f.idleSince.IsZero():
		f.idleSince = f.Now()
	default:
		return f.Now().Sub(f.idleSince) >= replaceTime
	}
	return false
}

// follow adds the attempts of a container that are new, oldest first, and ends those
// that have exited. listed gets the ids of all.
func (f *follower) follow(ctx context.Context, t target.Target, listed map[string]bool) {
	for _, c := range slices.Backward(target.Attempts(t.Pod, t.Container.Name)) {
		listed[c.ID] = true
		if !f.seen[c.ID] && c.State != pod.Created && (c.ID == t.Container.ID || f.later(t, c)) {
			f.seen[c.ID] = true
			l := &foundLog{Target: target.Target{Pod: t.Pod, Container: c}}
			if l.path, l.err = f.pathOf(ctx, l.Target); l.err == nil {
				o := f.Lines
				o.Tail = -1 // all of it is new
				l.err = f.add(l, o)
			}
			if l.err != nil {
				f.problem(nil, l.err)
			}
		}
		if c.State == pod.Exited {
			f.end(c.ID)
		}
	}
}

// later reports whether the attempt is newer than one that is followed.
func (f *follower) later(t target.Target, c *pod.Container) bool {
	return slices.ContainsFunc(target.Attempts(t.Pod, t.Container.Name), func(other *pod.Container) bool {
		return f.seen[other.ID] && c.CreatedAt.After(other.CreatedAt)
	})
}

// end says once that a container has exited.
func (f *follower) end(id string) {
	if f.seen[id] && !f.ended[id] {
		f.ended[id] = true
		f.group.End(id)
	}
}

// writerState is whether a container may write more.
type writerState uint8

const (
	// writes: it runs, or is started again.
	writes writerState = iota
	// mayBeReplaced: its pod has ended, a pod of the same name may follow.
	mayBeReplaced
	// finished: it has ended, and so has what it was for.
	finished
)

func (f *follower) stateOf(ctx context.Context, t target.Target) writerState {
	p := t.Pod
	switch {
	case t.Container == nil && (p.Manager != nil || p.SandboxReady()):
		return writes // it is about to get one
	case t.Container == nil:
		return mayBeReplaced
	case t.Container.State != pod.Exited:
		return writes
	case p.Manager != nil && (p.Worker.Stopped || p.Worker.Desired && pod.IsTerminal(p.Worker.PodPhase) && !p.Worker.Again):
		return finished
	case p.Kind() == view.KindOther:
		return finished // nothing starts it again
	case !p.SandboxReady():
		return mayBeReplaced
	}
	if f.isOver(ctx, t) {
		return finished
	}
	return writes
}

// isOver reports whether the pod's spec keeps an exited container from being
// started again.
func (f *follower) isOver(ctx context.Context, t target.Target) bool {
	if t.Pod.Object == nil {
		f.Session.ReadObjects(ctx, []*view.Pod{t.Pod})
	}
	if t.Pod.Object == nil {
		return false
	}
	status, err := f.Session.Client.ContainerStatus(ctx, t.Container.ID)
	return err == nil && !restarts(&t.Pod.Object.Spec, t.Container.Name, status.ExitCode)
}

// restarts reports whether a container that exited with the code is started again.
func restarts(spec *v1.PodSpec, name string, code int32) bool {
	policy := spec.RestartPolicy
	own := func(containers []v1.Container) (v1.Container, bool) {
		i := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == name })
		if i < 0 {
			return v1.Container{}, false
		}
		return containers[i], true
	}
	c, init := own(spec.InitContainers)
	if !init {
		c, _ = own(spec.Containers)
	}
	if len(c.RestartPolicyRules) > 0 {
		return true // which of them matches is the owner's to decide
	}
	switch {
	case c.RestartPolicy != nil:
		policy = v1.RestartPolicy(*c.RestartPolicy)
	case init && code == 0:
		return false
	case init && policy == v1.RestartPolicyAlways:
		policy = v1.RestartPolicyOnFailure
	}
	return policy == v1.RestartPolicyAlways || policy == v1.RestartPolicyOnFailure && code != 0
}
