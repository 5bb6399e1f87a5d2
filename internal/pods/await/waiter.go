package await

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// relistPeriod is how often the runtime is listed while nothing happens, as by the
// kubelet's PLEG: events of the runtime are hints and may be lost or missing.
const relistPeriod = time.Second

// Waiter waits for a condition of several targets.
type Waiter struct {
	Session   *target.Session // which was listed
	Condition Condition
	// Query names what is waited for.
	Query target.Query
	// Timeout is that of the wait; 0 checks once.
	Timeout time.Duration
	Now     func() time.Time
	// Data returns what a Path is into.
	Data func(context.Context, *view.Pod) (any, error)
	// Ongoing reports whether the runtime is asked again after an error.
	Ongoing func(error) bool
	// Decided is called once for each target.
	Decided func(*Target) error
	// Targets are what is waited for, after Resolve.
	Targets []*Target
}

// Target is one pod, or one container of it, that is waited for. Container is nil if the
// condition is of the pod, or before the container is created.
type Target struct {
	target.Target
	// Last is what the last look at it showed.
	Last Result
	// TimedOut: the time was over before the condition was met, or could not be any more.
	TimedOut bool

	done bool
	// failed is why the last look at it failed, nil if it did not.
	failed error
}

// Resolve finds the targets. A pod that does not exist is deleted.
func (w *Waiter) Resolve(ctx context.Context) error {
	var found []target.Target
	var err error
	if w.Condition.Kind == Exited {
		found, err = w.Session.Containers(ctx, w.Query)
	} else {
		var pods []*view.Pod
		pods, err = target.Pods(w.Session.Pods, w.Query)
		for _, p := range pods {
			found = append(found, target.Target{Pod: p})
		}
	}
	for _, t := range found {
		w.Targets = append(w.Targets, &Target{Target: t})
	}
	if w.Condition.Kind == Deleted && target.OnlyErrors(err, target.IsNoPod) {
		return nil
	}
	return err
}

// Run checks the targets each time the runtime may have changed, until all are decided or the
// time is over. The error is that of each that does not meet the condition.
func (w *Waiter) Run(ctx context.Context) error {
	var errs []error
	deadline := w.Now().Add(w.Timeout)
	ended, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	changed := w.changes(ended)
	var unlisted error // why the last list failed
	for {
		if unlisted == nil {
			errs = append(errs, w.check(ctx))
		}
		if w.isDone() || w.Timeout == 0 {
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
		err := w.Session.List(ended)
		if err != nil && (ctx.Err() != nil || !w.Now().Before(deadline)) {
			break
		}
		if unlisted = err; !w.Ongoing(err) && err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !w.isDone() {
		errs = append(errs, unlisted)
	}
	for _, t := range w.Targets {
		if !t.done {
			t.TimedOut = true
			errs = append(errs, w.decide(t), t.failed)
		}
	}
	return errors.Join(errs...)
}

func (w *Waiter) isDone() bool {
	return !slices.ContainsFunc(w.Targets, func(t *Target) bool { return !t.done })
}

// changes returns a channel that receives when the runtime reports an event, if podctl
// takes it from no other subscriber, and once per relistPeriod.
func (w *Waiter) changes(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if client := w.Session.Client; client.Connected().BroadcastsEvents() {
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
func (w *Waiter) check(ctx context.Context) error {
	var pods []*view.Pod
	for _, t := range w.Targets {
		if p := w.current(t); !t.done && p != nil {
			pods = append(pods, p)
		}
	}
	if w.Condition.Kind == PodCondition || w.Condition.Kind == Path {
		w.Session.ReadObjects(ctx, pods)
	}
	var errs []error
	for _, t := range w.Targets {
		if t.done {
			continue
		}
		seen, err := w.collect(ctx, t)
		if t.failed = err; err != nil {
			continue // it may pass until the time is over
		}
		if t.Last = w.Condition.Check(seen); t.Last.Met || t.Last.Failed {
			errs = append(errs, w.decide(t))
		}
	}
	return errors.Join(errs...)
}

// current is the pod as it was listed last, nil if it was not.
func (w *Waiter) current(t *Target) *view.Pod {
	i := slices.IndexFunc(w.Session.Pods, func(p *view.Pod) bool { return p.UID == t.Pod.UID })
	if i < 0 {
		return nil
	}
	return w.Session.Pods[i]
}

// collect reads what the condition is about.
func (w *Waiter) collect(ctx context.Context, t *Target) (seen Seen, err error) {
	seen.Pod = w.current(t)
	if seen.Pod == nil {
		seen.Vanished = t.Container != nil
		return seen, nil
	}
	t.Pod = seen.Pod
	switch w.Condition.Kind {
	case Path:
		seen.Data, err = w.Data(ctx, seen.Pod)
	case Exited:
		err = w.collectContainer(ctx, t, &seen)
	case PodCondition, Deleted:
	}
	return seen, err
}

// collectContainer finds the container by its id once it has been seen: a restart makes
// another one.
func (w *Waiter) collectContainer(ctx context.Context, t *Target, seen *Seen) error {
	if t.Container == nil {
		if found, err := target.Containers([]*view.Pod{t.Pod}, w.Query); err == nil && len(found) > 0 {
			t.Container = found[0].Container
		}
		if t.Container == nil {
			return nil
		}
	}
	if seen.Container = withID(t.Pod, t.Container.ID); seen.Container == nil {
		seen.Vanished = true
		return nil
	}
	if seen.Container.State != pod.Exited {
		return nil
	}
	status, err := w.Session.Client.ContainerStatus(ctx, seen.Container.ID)
	if errors.Is(err, cri.ErrNotFound) {
		seen.Vanished = true
		return nil
	}
	seen.Status = status
	return err
}

// withID returns the container of a pod with the id, nil if it has none.
func withID(p *view.Pod, id string) *pod.Container {
	for _, c := range p.ListedContainers() {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// decide says what became of a target; the error is that it did not get there.
func (w *Waiter) decide(t *Target) error {
	t.done = true
	if err := w.Decided(t); err != nil || t.Last.Met {
		return err
	}
	text := fmt.Sprintf("%s: %s ", t.DisplayName(), w.Condition)
	switch {
	case !t.TimedOut:
		text += "cannot be met"
	case w.Timeout == 0:
		text += "is not met"
	default:
		text += fmt.Sprintf("is not met after %s", w.Timeout)
	}
	err := errors.New(text + ": " + t.Last.Last)
	if w.Condition.Kind == Path { // it is not into the API object, as kubectl's
		return hint.With(err, "the path is into what podctl pods -o json prints: podctl pods "+t.Pod.CLIName()+" -o json")
	}
	return err
}
