package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// admission returns why a new pod may not start. The runtime is asked for its
// status only where the pod needs it; if it does not answer, the error is no
// admission.Error, and the pod waits.
func (n *Node) admission(ctx context.Context, p *v1.Pod) error {
	rt, err := n.abilities(ctx, p)
	if err != nil {
		return err
	}
	if err := n.opts.Admission.Check(p, rt); err != nil {
		return err
	}
	now, err := n.fit(ctx, p)
	if err == nil && !now {
		err = errNotNow
	}
	return err
}

// abilities is what the runtime can do, its status included if the pod needs it.
func (n *Node) abilities(ctx context.Context, p *v1.Pod) (admission.Runtime, error) {
	rt := admission.Runtime{
		Name: n.version.String(), Classes: n.classes(), ImageVolumes: n.version.ImageVolumes(),
		StopSignals: !n.opts.Facts.StopSignals || n.version.StopSignals(),
	}
	if !admission.NeedsStatus(p) {
		return rt, nil
	}
	status, err := n.rt.Status(ctx)
	if err != nil {
		return rt, err
	}
	rt.StrictGroups = status.SupplementalGroupsPolicy
	return rt, nil
}

func handlerNames(handlers []cri.Handler) []string {
	var names []string
	for _, h := range handlers {
		names = append(names, h.Name)
	}
	return names
}

func (n *Node) classes() admission.RuntimeClasses { return n.opts.RuntimeClasses }

// CheckRuntimeClasses returns which of the pods want a runtime handler that the
// runtime does not have. If the runtime does not list its handlers, it rejects
// the handler itself, when the pod's sandbox is created.
func (n *Node) CheckRuntimeClasses(ctx context.Context, pods []*v1.Pod) error {
	rt := admission.Runtime{Classes: n.classes()}
	if !slices.ContainsFunc(pods, func(p *v1.Pod) bool { return rt.Classes.Handler(p) != "" }) {
		return nil
	}
	status, err := n.rt.Status(ctx)
	if err != nil {
		return fmt.Errorf("check runtime classes: %w", err)
	}
	rt.Handlers = handlerNames(status.Handlers)
	var errs []error
	for _, p := range pods {
		if err := rt.CheckClass(p); err != nil {
			errs = append(errs, fmt.Errorf("pod %q: %w", pod.DisplayName(p.Namespace, p.Name), err))
		}
	}
	return errors.Join(errs...)
}
