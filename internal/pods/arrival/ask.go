package arrival

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/worker"
)

// askPodctls asks the live podctl processes for their desired pods, and for what
// is allocatable where one of them limits that.
func (n *Node) askPodctls(ctx context.Context, o Options) ([]sources.Answer, error) {
	podctls, err := o.Podctls(ctx)
	if err != nil {
		return nil, err
	}
	if err := n.askLimit(ctx, podctls, o); err != nil {
		return nil, err
	}
	n.Object.Spec.Taints = []v1.Taint{} // podctl has none
	var answers []sources.Answer
	for _, c := range podctls {
		a := sources.Answer{Source: c.Instance()}
		a.Pods, a.Err = desiredBy(ctx, c)
		answers = append(answers, a)
	}
	return answers, nil
}

// askLimit makes allocatable what the first podctl process by name that has a
// limit lets pods request.
func (n *Node) askLimit(ctx context.Context, podctls []*control.Client, o Options) error {
	for _, c := range podctls {
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

// askKubelet asks the kubelet that uses the runtime for its pods. What a part of them
// requests says nothing about what is free.
func askKubelet(ctx context.Context, p *kubelet.Process) sources.Answer {
	answer := p.Ask(ctx, kubelet.Question{})
	a := sources.Kubelet(answer)
	if a.Err == nil && answer.Incomplete != nil {
		a.Pods, a.Err = nil, hint.With(answer.Incomplete, nameSources)
	}
	return a
}

// stoppedKubeletError says that a kubelet created pods that run, and that none uses
// the runtime now: what they request is known to no one.
func stoppedKubeletError(pods int) error {
	return hint.Errorf("start the kubelet, or "+nameSources,
		"what is requested on this node is not known: a kubelet created %d of the running pods, and none uses this runtime now", pods)
}

// nameSources is the hint that names the flags of other sources.
const nameSources = "name the pods on the node: --node-pods FILE, or --kubeconfig FILE with --node"
