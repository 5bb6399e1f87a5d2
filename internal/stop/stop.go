package stop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/inventory"
)

// Options say how pods are stopped.
type Options struct {
	// Grace in seconds shortens the pods' own grace period; nil leaves it.
	Grace *int64
	// Remove also removes containers, sandboxes and leftover files.
	Remove bool
	// Force goes on by runtime calls where the podctl process does not answer.
	Force bool
	// BesideKubelet also stops pods that a kubelet would start again.
	BesideKubelet bool
	// KubeletIsGone also stops pods that a kubelet created, if none uses the runtime.
	KubeletIsGone bool
	// OwnerIsGone also stops pods whose podctl process may live and not be seen.
	OwnerIsGone bool
}

// Stopper stops pods of one runtime.
type Stopper struct {
	Options
	Client *cri.Client
	// Locks is the lock directory of the runtime. NewInstance returns a new
	// instance name, one for each unmanaged pod that is claimed.
	Locks       string
	NewInstance func() string
	// Leftovers are removed, with Remove, if no podctl process manages the pod.
	Leftovers host.Leftovers
	// Dial connects to control sockets; nil is the machine's own.
	Dial control.Dialer
	Log  *slog.Logger
}

// Outcome is what became of a pod.
type Outcome struct {
	// Instance manages the pod and keeps it stopped; "" if none does.
	Instance string
	Removed  bool
	// Already: the pod was stopped before, and nothing of it ran.
	Already bool
}

// forceWait is how long Force waits for a podctl process.
const forceWait = 10 * time.Second

// Stop stops a pod and returns when nothing of it runs.
func (s *Stopper) Stop(ctx context.Context, p *inventory.Pod) (Outcome, error) {
	outcome, err := s.stop(ctx, p)
	outcome.Already = err == nil && !s.Remove && wasStopped(p)
	return outcome, err
}

// wasStopped reports whether nothing of the pod runs, nor will by itself.
func wasStopped(p *inventory.Pod) bool {
	runs := p.Runtime != nil && p.Runtime.Running()
	if p.Managed() {
		return !runs && p.Worker.Stopped && !p.Terminating()
	}
	return !runs && p.Manager == nil
}

func (s *Stopper) stop(ctx context.Context, p *inventory.Pod) (Outcome, error) {
	// Of a pod that waits its podctl process says what is in the way now.
	if !p.Managed() && (p.Manager == nil || p.Runtime != nil) {
		return s.stopUnmanaged(ctx, p)
	}
	waiting := ctx
	if s.Force {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, forceWait)
		defer cancel()
	}
	err := p.Manager.Client(s.Dial).Stop(waiting, p.Namespace, p.Name, s.Grace)
	switch {
	case err != nil && (!s.Force || ctx.Err() != nil):
		return Outcome{}, err
	case err == nil && !s.Remove:
		return Outcome{Instance: p.Manager.Name}, nil
	}
	return s.terminate(ctx, p, cri.TerminateOptions{Escalate: s.Force, Remove: true})
}

// removalTries is how often a runtime call may fail because the pod's podctl
// process removes the same object, and removalPause the time between two tries.
const (
	removalTries = 10
	removalPause = 200 * time.Millisecond
)

// terminate goes on by runtime calls.
func (s *Stopper) terminate(ctx context.Context, p *inventory.Pod, o cri.TerminateOptions) (Outcome, error) {
	o.Step = func(call string) { s.Log.Info("stop pod", "pod", p.DisplayName(), "call", call) }
	if err := s.terminateNow(ctx, p, o); err != nil {
		return Outcome{}, err
	}
	if o.Remove && !p.Managed() && p.Creator != "" {
		if err := s.Leftovers.Remove(ctx, p.UID, p.Namespace, p.Name); err != nil {
			return Outcome{}, fmt.Errorf("remove leftover files of %s: %w", p.DisplayName(), err)
		}
	}
	outcome := Outcome{Removed: o.Remove}
	if p.Managed() {
		outcome.Instance = p.Manager.Name
	}
	return outcome, nil
}

// terminateNow terminates what the runtime has of the pod now. A call may fail
// because the pod's podctl process removes the same object, and is then retried.
func (s *Stopper) terminateNow(ctx context.Context, p *inventory.Pod, o cri.TerminateOptions) error {
	for try := 1; ; try++ {
		now, err := s.Client.ListPod(ctx, p.DistinctUID())
		if err != nil || now == nil {
			return err
		}
		if err = s.Client.TerminatePod(ctx, now, o); err == nil {
			return nil
		}
		if !p.Managed() || o.Escalate || try == removalTries {
			return fmt.Errorf("stop pod %s: %w", p.DisplayName(), err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(removalPause):
		}
	}
}
