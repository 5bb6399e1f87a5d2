package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/await"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// relistPeriod is how often the runtime is listed while nothing happens, as by the
// kubelet's PLEG: events of the runtime are hints and may be lost or missing.
const relistPeriod = time.Second

// waiting is one pod, or one container of it, that is waited for.
type waiting struct {
	pod *view.Pod
	// container is nil if the condition is of the pod, or before the container is
	// created.
	container *pod.Container
	done      bool
	last      await.Result
	// failed is why the last look at it failed, nil if it did not.
	failed error
}

func (w *waiting) name() string {
	return target.Target{Pod: w.pod, Container: w.container}.DisplayName()
}

func (w *waiting) cliName() string { return w.pod.ContainerCLIName(w.container) }

// waiter waits for a condition of several targets.
type waiter struct {
	env     *shell.Env
	opts    waitOptions
	session *target.Session
	stream  *output.Stream
	targets []*waiting
	// left is the number of targets that are not done.
	left int
}

func runWait(ctx context.Context, e *shell.Env, o waitOptions) error {
	s, err := shell.OpenSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	w := &waiter{env: e, opts: o, session: s, stream: o.format.NewStream(e.Out)}
	if err := w.resolve(ctx); err != nil {
		return err
	}
	if o.exitCode && len(w.targets) != 1 {
		return shell.Usagef("--exit-code needs a single container, not %d", len(w.targets))
	}
	return w.run(ctx)
}

// resolve finds the targets. A pod that does not exist is deleted.
func (w *waiter) resolve(ctx context.Context) error {
	if w.opts.condition.Kind == await.Exited {
		found, err := w.session.Containers(ctx, w.opts.Query)
		for _, t := range found {
			w.targets = append(w.targets, &waiting{pod: t.Pod, container: t.Container})
			if len(t.DefaultedFrom) > 0 && w.opts.format.IsTable() {
				fmt.Fprintf(w.env.Errw, "waiting for container %s of %s\n", t.Container.Name, t.Pod.DisplayName())
			}
		}
		w.left = len(w.targets)
		return err
	}
	found, err := target.Pods(w.session.Pods, w.opts.Query)
	for _, p := range found {
		w.targets = append(w.targets, &waiting{pod: p})
	}
	w.left = len(w.targets)
	if w.opts.condition.Kind == await.Deleted && onlyErrors(err, isNoPod) {
		return nil
	}
	return err
}

// run checks the targets each time the runtime may have changed, until all are done
// or the time is over.
func (w *waiter) run(ctx context.Context) error {
	var errs []error
	deadline := w.env.Now().Add(w.opts.timeout)
	ended, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	changed := w.changes(ended)
	outage := shell.Outage{Env: w.env}
	var unlisted error // why the last list failed
	for {
		if unlisted == nil {
			errs = append(errs, w.check(ctx))
		}
		if w.left == 0 || w.opts.timeout == 0 {
			break
		}
		select {
		case <-changed:
		case <-ended.Done():
		}
		if ended.Err() != nil {
			break
		}
		// A call may report the deadline before the context does.
		err := w.session.List(ended)
		if err != nil && (ctx.Err() != nil || !w.env.Now().Before(deadline)) {
			break
		}
		if unlisted = err; !outage.Ongoing(err) && err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if w.left > 0 {
		errs = append(errs, unlisted)
	}
	for _, t := range w.targets {
		if !t.done {
			errs = append(errs, w.decide(t, true), t.failed)
		}
	}
	return w.result(errs)
}

// result is the joined error, or the container's exit code.
func (w *waiter) result(errs []error) error {
	err := errors.Join(errs...)
	if err == nil && w.opts.exitCode {
		if code := w.targets[0].last.ExitCode; code != nil && *code != 0 {
			return &shell.StatusError{Code: int(*code)}
		}
	}
	return err
}

// changes returns a channel that receives when the runtime reports an event, if podctl
// takes it from no other subscriber, and once per relistPeriod.
func (w *waiter) changes(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if client := w.session.Client; client.Connected().BroadcastsEvents() {
		go func() { _ = client.Notices(ctx, notify, func(pod.Notice) { notify() }) }() // relists see what events do not tell
	}
	go func() {
		ticks := time.NewTicker(relistPeriod)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				notify()
			case <-ctx.Done():
				return
			}
		}
	}()
	return changed
}

// check decides the targets that can be.
func (w *waiter) check(ctx context.Context) error {
	var pods []*view.Pod
	for _, t := range w.targets {
		if p := w.current(t); !t.done && p != nil {
			pods = append(pods, p)
		}
	}
	if w.opts.condition.Kind == await.PodCondition || w.opts.condition.Kind == await.Path {
		w.session.ReadObjects(ctx, pods)
	}
	var errs []error
	for _, t := range w.targets {
		if t.done {
			continue
		}
		seen, err := w.see(ctx, t)
		if t.failed = err; err != nil {
			continue // it may pass until the time is over
		}
		if t.last = w.opts.condition.Check(seen); t.last.Met || t.last.Failed {
			errs = append(errs, w.decide(t, false))
		}
	}
	return errors.Join(errs...)
}

// current is the pod as it was listed last, nil if it was not.
func (w *waiter) current(t *waiting) *view.Pod {
	i := slices.IndexFunc(w.session.Pods, func(p *view.Pod) bool { return p.UID == t.pod.UID })
	if i < 0 {
		return nil
	}
	return w.session.Pods[i]
}

// see collects what the condition is about.
func (w *waiter) see(ctx context.Context, t *waiting) (await.Seen, error) {
	seen := await.Seen{Pod: w.current(t)}
	if seen.Pod == nil {
		seen.Vanished = t.container != nil
		return seen, nil
	}
	t.pod = seen.Pod
	var err error
	switch w.opts.condition.Kind {
	case await.Path:
		seen.Data, err = w.data(ctx, seen.Pod)
	case await.Exited:
		err = w.seeContainer(ctx, t, &seen)
	case await.PodCondition, await.Deleted:
	}
	return seen, err
}

func (w *waiter) data(ctx context.Context, p *view.Pod) (any, error) {
	w.session.Reader.ReadStatuses(ctx, []*view.Pod{p}, true)
	return output.Generic(NewPodData(p))
}

// seeContainer finds the container by its id once it has been seen: a restart makes
// another one.
func (w *waiter) seeContainer(ctx context.Context, t *waiting, seen *await.Seen) error {
	if t.container == nil {
		if found, err := target.Containers([]*view.Pod{t.pod}, w.opts.Query); err == nil && len(found) > 0 {
			t.container = found[0].Container
		}
		if t.container == nil {
			return nil
		}
	}
	if seen.Container = withID(t.pod, t.container.ID); seen.Container == nil {
		seen.Vanished = true
		return nil
	}
	if seen.Container.State != pod.Exited {
		return nil
	}
	status, err := w.session.Client.ContainerStatus(ctx, seen.Container.ID)
	if errors.Is(err, cri.ErrNotFound) {
		seen.Vanished = true
		return nil
	}
	seen.Status = status
	return err
}

// withID returns the container of a pod with the id, nil if it has none.
func withID(p *view.Pod, id string) *pod.Container {
	if p.Runtime == nil {
		return nil
	}
	for _, c := range p.Runtime.Containers {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// decide prints what became of a target; the error is that it did not get there.
func (w *waiter) decide(t *waiting, timedOut bool) error {
	t.done = true
	w.left--
	if !w.opts.format.IsTable() {
		d := waitData{
			Pod: t.pod.DisplayName(), UID: string(t.pod.UID), Condition: w.opts.condition.String(),
			Met: t.last.Met, TimedOut: timedOut, Seen: t.last.Last, ExitCode: t.last.ExitCode,
		}
		if t.container != nil {
			d.Container = t.container.Name
		}
		if err := w.stream.Print(t.cliName(), d); err != nil {
			return err
		}
	}
	switch {
	case !t.last.Met:
		e := &notMetError{target: t.name(), pod: t.pod.CLIName(), condition: w.opts.condition.String(), last: t.last.Last}
		if timedOut {
			e.timedOut, e.checked = w.opts.timeout, w.opts.timeout == 0
		}
		if w.opts.condition.Kind == await.Path {
			return &pathError{e}
		}
		return e
	case !w.opts.format.IsTable():
	case w.opts.condition.Kind == await.Exited && t.last.ExitCode != nil:
		fmt.Fprintf(w.env.Out, "%s exited %d\n", output.OneLine(t.name()), *t.last.ExitCode)
	default:
		fmt.Fprintf(w.env.Out, "%s: %s\n", output.OneLine(t.name()), w.opts.condition)
	}
	return nil
}
