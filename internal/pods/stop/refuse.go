package stop

import (
	"errors"
	"fmt"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/sys/hint"
)

// refuse is why a pod must not be terminated by runtime calls, nil if it may be. A podctl
// process that only waits for the pod is no reason: its lock of the name is one.
func (s *Stopper) refuse(v owners.Verdict) error {
	switch {
	case v.Relation == owners.None, v.Relation == owners.Desires && v.Kind == owners.ByPodctl && !v.Process.Elsewhere:
		return nil
	case v.Kind == owners.ByPodctl:
		return refusedByPodctl(v)
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

func refusedByPodctl(v owners.Verdict) error {
	if v.Process.Name == "" {
		return v.Why // podctl processes cannot be seen
	}
	if !v.Process.Elsewhere {
		return fmt.Errorf("%s manages it", v.Process.Title())
	}
	err := fmt.Errorf("%s manages it, by another endpoint", v.Process.Title())
	if v.Why != nil {
		err = fmt.Errorf("it may be managed by another endpoint: %w", v.Why)
	}
	return hint.With(err, "use -r and --run-dir of that process, or stop it")
}
