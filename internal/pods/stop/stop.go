package stop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Options say how pods are stopped.
type Options struct {
	// Grace in seconds shortens the pods' own grace period; nil leaves it.
	Grace *int64
	// Remove also removes containers, sandboxes and leftover files.
	Remove bool
	// Force goes on by runtime calls where the podctl process does not answer.
	Force bool
	// BesideKubelet also stops pods that a kubelet has, or may have.
	BesideKubelet bool
}

// AtOnce is how many pods a command terminates at the same time. Most of that time is their
// grace period.
const AtOnce = 32

// Stopper stops pods of one runtime. It is safe for concurrent use.
type Stopper struct {
	Options
	Terminator
	// Owners are asked again before a pod is terminated by runtime calls.
	Owners owners.Asker
	// Dial connects to control sockets; nil is the machine's own.
	Dial control.Dialer
	Log  *slog.Logger

	// asking joins the questions about several pods: each is one to all owners.
	asking Batch[*pod.Pod, *owners.Answers]
}

// Outcome is what became of a pod.
type Outcome struct {
	// Instance manages the pod and keeps it stopped; "" if none does.
	Instance string
	Removed  bool
	// Bypassed is the podctl process that manages the pod and did not answer, nil where none
	// was bypassed.
	Bypassed *owners.Process
	// Already: the pod was stopped before, and nothing of it ran.
	Already bool
}

// forceWait is how long Force waits for a podctl process.
const forceWait = 10 * time.Second

// Stop stops a pod and returns when nothing of it runs.
func (s *Stopper) Stop(ctx context.Context, p *view.Pod) (Outcome, error) {
	outcome, err := s.stop(ctx, p)
	outcome.Already = err == nil && !s.Remove && wasStopped(p)
	return outcome, err
}

// wasStopped reports whether nothing of the pod runs, nor will by itself.
func wasStopped(p *view.Pod) bool {
	runs := p.Runtime != nil && p.Runtime.MayBeRunning()
	if p.Managed() {
		return !runs && p.Worker.Stopped && !p.Terminating()
	}
	return !runs && p.Manager == nil
}

func (s *Stopper) stop(ctx context.Context, p *view.Pod) (Outcome, error) {
	// For a waiting pod, ask its podctl process: it knows the current reason.
	if !p.Managed() && (p.Manager == nil || p.Runtime != nil) && !isSilent(p.Verdict) {
		return s.stopUnmanaged(ctx, p)
	}
	process := p.Verdict.Process
	err := s.stopByProcess(ctx, p, process)
	switch {
	case err != nil && (!s.Force || ctx.Err() != nil):
		return Outcome{}, err
	case err == nil && !s.Remove:
		return Outcome{Instance: process.Name}, nil
	}
	outcome := Outcome{Instance: process.Name, Removed: true}
	if process.Err != nil { // it does not know that the pod is to stay stopped
		outcome.Bypassed = &process
	}
	return outcome, s.removeManaged(ctx, p)
}

// isSilent reports whether a podctl process of this endpoint has the pod and does not
// answer.
func isSilent(v owners.Verdict) bool {
	return v.Relation == owners.Manages && !v.Process.Elsewhere && v.Process.Err != nil && v.Process.Name != ""
}

// stopByProcess has the podctl process stop the pod. One that was seen not to answer is
// not asked again.
func (s *Stopper) stopByProcess(ctx context.Context, p *view.Pod, process owners.Process) error {
	if process.Err != nil {
		return hint.With(fmt.Errorf("stop pod %s: %w", p.DisplayName(), process.NoAnswerError()), wake(process)+"podctl rm --force goes past it")
	}
	if s.Force {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, forceWait)
		defer cancel()
	}
	return process.Client(s.Dial).Stop(ctx, p.Namespace, p.Name, s.Grace)
}

// wake says how a process that does not answer is made to.
func wake(p owners.Process) string {
	if p.Stopped {
		return fmt.Sprintf("kill -CONT %d continues it; ", p.PID)
	}
	return ""
}

// removalTries is how often a runtime call may fail because the pod's podctl
// process removes the same object, and removalPause the time between two tries.
const (
	removalTries = 10
	removalPause = 200 * time.Millisecond
)

// removeManaged removes what the runtime has of a pod that its podctl process has stopped,
// or could not stop. A call may fail because the process removes the same object, and is
// then retried. What the pod left on the host is the process's.
func (s *Stopper) removeManaged(ctx context.Context, p *view.Pod) error {
	for try := 1; ; try++ {
		now, err := s.Client.ListPod(ctx, p.DistinctUID())
		if err != nil || now == nil {
			return err
		}
		if err = s.Client.TerminatePod(ctx, now, s.calls(p, 0)); err == nil {
			return nil
		}
		if s.Force || try == removalTries {
			return fmt.Errorf("stop pod %s: %w", p.DisplayName(), err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(removalPause):
		}
	}
}

func (s *Stopper) calls(p *view.Pod, grace time.Duration) cri.TerminateOptions {
	return cri.TerminateOptions{
		Grace: grace, Escalate: s.Force, Remove: s.Remove,
		Step: func(call string) { s.Log.Info("stop pod", "pod", p.DisplayName(), "call", call) },
	}
}

// stopUnmanaged stops a pod that no podctl process of this endpoint manages.
func (s *Stopper) stopUnmanaged(ctx context.Context, p *view.Pod) (Outcome, error) {
	if err := s.refuse(p.UID, p.Verdict); err != nil {
		return Outcome{}, fmt.Errorf("stop pod %s: %w", p.DisplayName(), err)
	}
	err := s.Terminate(ctx, Request{
		UID: p.UID, Namespace: p.Namespace, Name: p.Name, Ours: p.Creator != "" || len(p.Runtime.Sandboxes) == 0, RemoveFiles: p.Creator != "",
		Look:             func(ctx context.Context) (*pod.Pod, error) { return s.lookAgain(ctx, p) },
		TerminateOptions: s.calls(p, s.graceOf(ctx, p)),
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("stop pod %s: %w", p.DisplayName(), err)
	}
	return Outcome{Removed: s.Remove}, nil
}

// lookAgain returns what the runtime has of the pod now, or why it must not be touched.
func (s *Stopper) lookAgain(ctx context.Context, p *view.Pod) (*pod.Pod, error) {
	now, err := s.Client.ListPod(ctx, p.DistinctUID())
	if err != nil || now == nil {
		return nil, err
	}
	answers, err := s.asking.Ask(ctx, now, func(ctx context.Context, all []*pod.Pod) (*owners.Answers, error) {
		return s.Owners.Ask(ctx, s.Client, all)
	})
	if err != nil {
		return nil, err
	}
	return now, s.refuse(now.UID, answers.Judge(now))
}

// graceOf returns the longest grace period of the pod's containers that may run, or
// that of Options if it is shorter.
func (s *Stopper) graceOf(ctx context.Context, p *view.Pod) time.Duration {
	grace := int64(0)
	for _, c := range p.Runtime.Containers {
		if c.State != pod.Running && c.State != pod.Unknown {
			continue
		}
		own := int64(v1.DefaultTerminationGracePeriodSeconds)
		if st, err := s.Client.ContainerStatus(ctx, c.ID); err == nil {
			if n, err := strconv.ParseInt(st.Annotations[pod.TerminationGraceAnnotation], 10, 64); err == nil {
				own = n
			}
		}
		grace = max(grace, own)
	}
	if s.Grace != nil {
		grace = min(grace, *s.Grace)
	}
	return time.Duration(grace) * time.Second
}

// refuse is why a pod must not be terminated by runtime calls, nil if it may be. A podctl
// process of this endpoint that answered, and does not run the pod, is no reason: its lock
// of the pod's name would be one.
func (s *Stopper) refuse(uid types.UID, v owners.Verdict) error {
	switch {
	case v.Relation == owners.None:
		return nil
	case v.Kind == owners.ByPodctl:
		return refusedByPodctl(uid, v)
	case s.BesideKubelet:
		return nil
	case v.Relation == owners.Unknown:
		return v.Why
	case v.Relation == owners.Terminates:
		return hint.With(errors.New("its kubelet is terminating it"), "podctl terminating shows what it waits for; --beside-kubelet stops it anyway")
	}
	if v.Kind == owners.BySource {
		return hint.With(fmt.Errorf("%s desires it, or a pod of its UID", v.Source), "remove it at its source; --beside-kubelet stops it anyway")
	}
	return hint.With(errors.New("a kubelet uses this runtime and would start its pod again"),
		"delete it at its source: kubectl delete pod, or the static manifest; --beside-kubelet stops it anyway")
}

func refusedByPodctl(uid types.UID, v owners.Verdict) error {
	p := v.Process
	w, named := p.Workers[uid]
	switch runs := named && w.Rejected == ""; {
	case v.Relation == owners.Unknown && p.Name == "":
		return v.Why // podctl processes cannot be seen
	case p.Name == "":
		return fmt.Errorf("cannot see which podctl process holds its name: %w", p.Err)
	case !p.Elsewhere && !runs && (named || p.LocksDecide()):
		return nil
	case !p.Elsewhere && runs:
		return fmt.Errorf("%s manages it", p.Title())
	case !p.Elsewhere:
		return p.NoAnswerError()
	}
	err := fmt.Errorf("%s manages it, by another endpoint", p.Title())
	if v.Why != nil {
		err = fmt.Errorf("it may be managed by another endpoint: %w", v.Why)
	}
	return hint.With(err, "use -r and --run-dir of that process, or stop it")
}
