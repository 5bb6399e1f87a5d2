package node

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// admission returns why a new pod may not start. The runtime is asked for its
// status only where the pod needs it; if it does not answer, the error is no
// admission.Error, and the pod waits.
func (n *Node) admission(ctx context.Context, p *v1.Pod) error {
	rt, err := n.features.forAdmission(ctx, p)
	if err != nil {
		return err
	}
	if err := n.opts.Admission.Check(p, rt); err != nil {
		return err
	}
	now, err := n.preemption.fit(ctx, p)
	if err == nil && !now {
		err = errMakingRoom
	}
	return err
}
