package arrival

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// askPodctls asks the live podctl processes for their desired pods, and for what
// is allocatable where one of them limits that.
func (n *Node) askPodctls(ctx context.Context, o Options) ([]desired.Answer, error) {
	var err error
	if n.podctls, err = o.Podctls(ctx); err != nil {
		return nil, err
	}
	if err := n.askLimit(ctx, o); err != nil {
		return nil, err
	}
	n.Object.Spec.Taints = []v1.Taint{} // podctl has none
	var answers []desired.Answer
	for _, c := range n.podctls {
		a := desired.Answer{Source: c.Instance()}
		a.Pods, a.Err = desiredBy(ctx, c)
		answers = append(answers, a)
	}
	return answers, nil
}

// askLimit makes allocatable what the first podctl process by name that has a
// limit lets pods request.
func (n *Node) askLimit(ctx context.Context, o Options) error {
	for _, c := range n.podctls {
		object, err := c.Node(ctx)
		if err != nil {
			return fmt.Errorf("read what is allocatable: %w", err)
		}
		if object.Status.Allocatable == nil {
			continue
		}
		if o.Reserved == nil {
			n.Object.Status.Allocatable, n.Allocatable = object.Status.Allocatable, c.Instance()
		}
		return nil
	}
	return nil
}

// desiredBy returns the pods that a podctl process desires: others are
// terminating, and hold nothing against a pod that arrives.
func desiredBy(ctx context.Context, c *control.Client) ([]*v1.Pod, error) {
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	leaving, terminating := map[types.UID]bool{}, map[types.UID]bool{}
	for _, w := range workers {
		// One that was not admitted, or waits, holds nothing: another podctl may run
		// its twin.
		leaving[w.UID] = !w.Desired || w.Rejected != "" || w.WaitReason != ""
		terminating[w.UID] = w.Phase == worker.Terminating.String()
	}
	list, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	var pods []*v1.Pod
	for i := range list.Items {
		p := &list.Items[i]
		if leaving[p.UID] {
			continue
		}
		if terminating[p.UID] && pod.IsTerminal(p.Status.Phase) {
			// It holds what it requests until nothing of it runs (filterOutInactivePods in
			// pkg/kubelet/kubelet_pods.go).
			p.Status.Phase = v1.PodRunning
		}
		pods = append(pods, p)
	}
	return pods, nil
}

// Evict has the victims evicted by the podctl processes that manage them, one
// after the other, and calls evicted for each. It stops at the first that cannot
// be evicted: that pod is not admitted.
func (n *Node) Evict(ctx context.Context, arrivals []Arrival, evicted func(name string)) error {
	for _, a := range arrivals {
		for _, v := range a.Plan.Victims {
			name := pod.DisplayName(v.Namespace, v.Name)
			if err := n.evict(ctx, v); err != nil {
				return fmt.Errorf("%s is not admitted: evict %s: %w", a.Pod, name, err)
			}
			evicted(name)
		}
	}
	return nil
}

func (n *Node) evict(ctx context.Context, v *v1.Pod) error {
	for _, c := range n.podctls {
		if err := c.Preempt(ctx, v.Namespace, v.Name); !errors.Is(err, control.ErrNotFound) {
			return err
		}
	}
	return control.ErrNotFound
}
