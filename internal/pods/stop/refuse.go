package stop

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/sys/hint"
)

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
