package stop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// stopUnmanaged stops a pod that no living podctl process manages. Its name is
// claimed meanwhile, so that none starts to.
func (s *Stopper) stopUnmanaged(ctx context.Context, p *inventory.Pod) (Outcome, error) {
	if p.Elsewhere != "" {
		return Outcome{}, &ElsewhereError{Pod: p.DisplayName(), Instance: p.Elsewhere}
	}
	if p.Creator != "" && !s.OwnerIsGone {
		if err := inventory.OwnersUnseen(s.Client); err != nil {
			return Outcome{}, fmt.Errorf("stop pod %s: %w", p.DisplayName(), err)
		}
	}
	if err := s.checkKubelet(ctx, p); err != nil {
		return Outcome{}, err
	}
	release, err := s.claim(p)
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	return s.terminate(ctx, p, cri.TerminateOptions{Grace: s.graceOf(ctx, p), Escalate: s.Force, Remove: s.Remove})
}

// claim locks the pod's name. A name that another process holds is an error; a
// lock that cannot be written, on a full disk for instance, is none: it does not
// keep the user from stopping a pod that no process manages.
func (s *Stopper) claim(p *inventory.Pod) (release func(), err error) {
	locks, err := owner.Open(s.Locks, s.NewInstance())
	if err != nil {
		return s.unclaimed(p, err)
	}
	release = func() { _ = locks.Close() } // the process exits soon
	if err := locks.Claim(p.Runtime.FullName()); err != nil {
		release()
		return s.unclaimed(p, err)
	}
	return release, nil
}

// unclaimed judges a claim that failed: the pod is stopped without a lock only if no
// process has that of its name, which takes no space to find out.
func (s *Stopper) unclaimed(p *inventory.Pod, err error) (release func(), _ error) {
	if _, held := errors.AsType[*owner.HeldError](err); held {
		return nil, err
	}
	holder, held, unknown := owner.HolderOf(s.Locks, p.FullName())
	switch {
	case unknown != nil && isForeign(p):
	case unknown != nil:
		return nil, fmt.Errorf("stop pod %s: cannot see whether a podctl process manages it: %w", p.DisplayName(), unknown)
	case held:
		return nil, &owner.HeldError{What: fmt.Sprintf("pod %q", p.FullName()), Owner: holder.Name}
	case p.Alive: // its lock was deleted
		return nil, &owner.HeldError{What: fmt.Sprintf("pod %q", p.FullName()), Owner: p.Creator}
	}
	s.Log.Warn("stop pod without a lock on its name", "pod", p.DisplayName(), "err", err)
	return func() {}, nil
}

// isForeign reports whether neither a podctl process nor a kubelet can have made the pod,
// so that no podctl process manages it.
func isForeign(p *inventory.Pod) bool {
	return len(p.Runtime.Sandboxes) > 0 && p.Kind() == inventory.KindOther
}

// checkKubelet refuses to stop a pod that may belong to a kubelet, unless the
// user takes the responsibility.
func (s *Stopper) checkKubelet(ctx context.Context, p *inventory.Pod) error {
	if p.Kind() == inventory.KindPodctl || s.BesideKubelet {
		return nil
	}
	near, err := kubelet.Find(ctx, s.Client.Endpoint().Runtime)
	switch {
	case near != nil:
		return &KubeletPodError{p.DisplayName()}
	case s.KubeletIsGone:
		return nil
	case err != nil:
		return fmt.Errorf("stop pod %s: %w", p.DisplayName(), err)
	case p.Kind() == inventory.KindKubelet:
		return fmt.Errorf("stop pod %s: %w", p.DisplayName(), &kubelet.AbsentError{})
	}
	return nil
}

// ElsewhereError: a live podctl process that uses another endpoint, or another run
// directory, owns the pod, or may own it.
type ElsewhereError struct{ Pod, Instance string }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("stop pod %s: podctl %q manages it, by another endpoint", e.Pod, e.Instance)
}

// Hint says how that process is reached.
func (*ElsewhereError) Hint() string {
	return "use -r and --run-dir of that process, or stop it"
}

// KubeletPodError is a pod that may belong to a living kubelet.
type KubeletPodError struct{ Pod string }

func (e *KubeletPodError) Error() string {
	return fmt.Sprintf("stop pod %s: a kubelet uses this runtime and would start its pod again", e.Pod)
}

// Hint returns where the kubelet's pods are deleted.
func (e *KubeletPodError) Hint() string {
	return "delete it at its source: kubectl delete pod, or the static manifest; --beside-kubelet stops it anyway"
}

// graceOf returns the longest grace period of the pod's running containers, or
// that of Options if it is shorter.
func (s *Stopper) graceOf(ctx context.Context, p *inventory.Pod) time.Duration {
	grace := int64(0)
	for _, c := range p.Runtime.Containers {
		if c.State != pod.Running {
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
