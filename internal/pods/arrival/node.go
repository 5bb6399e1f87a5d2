package arrival

import (
	"context"
	"errors"
	"maps"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
)

// Node is the node at which pods arrive.
type Node struct {
	// Object holds what is known of the node: its name, labels and taints if a
	// cluster was asked, and what is allocatable in any case.
	Object *v1.Node
	// Allocatable names the source of what is allocatable.
	Allocatable string
	// Pods are the active pods.
	Pods    []*v1.Pod
	Sources []Source
	// unchecked is what could not be looked at, for want of facts.
	unchecked []string
	kubelet   *kubelet.Process
}

// Source is a source of the pods on the node.
type Source struct {
	Name string `json:"name"` // "kubelet http://127.0.0.1:10255"
	Pods int    `json:"pods"` // active pods
}

// Options say which node is read, and how.
type Options struct {
	// Sources are the kubelet and the cluster that were named, NodePods are
	// manifests of pods on the node.
	Sources  sources.Sources
	NodePods []string
	// Allocatable replaces amounts of what is allocatable; Reserved is subtracted
	// from this machine's capacity.
	Allocatable, Reserved v1.ResourceList
	// PodsDir and Logs are directories on the file systems that hold pods' storage.
	PodsDir, Logs string
	// Podctls returns clients of the live podctl processes: the pods on the node
	// are theirs where no other source is named.
	Podctls func(context.Context) ([]*control.Client, error)
	// Kubelet returns the kubelet that uses the runtime, nil if none does. What it
	// reserves is not allocatable; its pods are on the node where no other source is named.
	Kubelet func(context.Context) (*kubelet.Process, error)
	// KubeletPods returns how many running pods a kubelet created. It is called
	// where no kubelet uses the runtime and no other source is named.
	KubeletPods func(context.Context) (int, error)
}

// named reports whether a source of pods is named.
func (o Options) named() bool {
	return o.Sources.AskKubelet || o.Sources.Kubeconfig != "" || len(o.NodePods) > 0
}

// thisMachine is the source of what is allocatable on the machine that podctl runs on.
const thisMachine = "this machine"

// Read reads the node. The error is a *kubelet.UnseenError if a kubelet may use
// the runtime that podctl cannot see.
func Read(ctx context.Context, o Options) (*Node, error) {
	cluster, err := o.Sources.Cluster()
	if err != nil {
		return nil, err
	}
	n := &Node{Object: &v1.Node{}, Allocatable: thisMachine}
	if n.kubelet, err = o.Kubelet(ctx); err != nil && !o.named() {
		return nil, err
	}
	node, err := o.Sources.NodeName(n.kubelet)
	if err != nil {
		return nil, err
	}
	if cluster != nil {
		if n.Object, err = cluster.Node(ctx, node); err != nil {
			return nil, err
		}
		n.Allocatable = "node " + n.Object.Name
	} else if err := n.readAllocatable(ctx, o); err != nil {
		return nil, err
	}
	if err := n.ask(ctx, o, cluster, node); err != nil {
		return nil, err
	}
	maps.Copy(n.Object.Status.Allocatable, o.Allocatable)
	return n, nil
}

// ask asks all sources for the pods on the node. Several may name one pod.
func (n *Node) ask(ctx context.Context, o Options, cluster *sources.Cluster, node string) error {
	answers := o.Sources.Answers(ctx, cluster, node)
	if n.kubelet != nil && !o.named() {
		answers = append(answers, askKubelet(ctx, n.kubelet))
	}
	if len(o.NodePods) > 0 {
		answers = append(answers, sources.Files(ctx, nil, o.NodePods...))
	}
	if len(answers) == 0 {
		stranded, err := o.KubeletPods(ctx)
		if err != nil {
			return err
		}
		if stranded > 0 {
			return stoppedKubeletError(stranded)
		}
		if answers, err = n.askPodctls(ctx, o); err != nil {
			return err
		}
	}
	var errs []error
	seen := map[string]bool{}
	for _, a := range answers {
		if a.Err != nil {
			errs = append(errs, a.Err)
			continue
		}
		source := Source{Name: a.Source}
		for _, p := range preempt.Active(a.Pods) {
			if name := p.Namespace + "/" + p.Name; !seen[name] {
				seen[name] = true
				source.Pods++
				n.Pods = append(n.Pods, p)
			}
		}
		n.Sources = append(n.Sources, source)
	}
	return errors.Join(errs...)
}

// Arrival is a pod that arrived at the node, and the decision about it.
type Arrival struct {
	Pod               preempt.PodRef `json:"pod"`
	*preempt.Decision `json:",inline"`
}

// Admit lets pods arrive one after the other: each finds the pods that were
// admitted before it, and not the victims of those. Pure.
func (n *Node) Admit(pods []*v1.Pod) []Arrival {
	var all []Arrival
	on := n.Pods
	for _, p := range pods {
		d := preempt.Admit(p, n.Object, on)
		d.Unchecked = append(d.Unchecked, n.unchecked...)
		all = append(all, Arrival{Pod: preempt.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, Decision: d})
		if d.Admitted {
			on = append(d.Plan.Survivors(without(on, p)), p)
		}
	}
	return all
}

// without returns the pods except the one itself, which may be on the node.
func without(pods []*v1.Pod, p *v1.Pod) []*v1.Pod {
	var others []*v1.Pod
	for _, q := range pods {
		if q.UID != p.UID && pod.FullNameOf(q) != pod.FullNameOf(p) {
			others = append(others, q)
		}
	}
	return others
}

// Saved is a Node in a form that can be stored in a file, or why there is none.
type Saved struct {
	Object *v1.Node `json:"object,omitempty"`
	// Untainted: the node is known to have no taints, which JSON does not tell from unknown ones.
	Untainted   bool      `json:"untainted,omitempty"`
	Allocatable string    `json:"allocatable,omitempty"`
	Pods        []*v1.Pod `json:"pods,omitempty"`
	Sources     []Source  `json:"sources,omitempty"`
	Unchecked   []string  `json:"unchecked,omitempty"`
	Err         string    `json:"error,omitempty"`
}

// Save returns what Read returned, to be stored.
func Save(n *Node, err error) Saved {
	if err != nil {
		return Saved{Err: err.Error()}
	}
	return Saved{Object: n.Object, Untainted: n.Object.Spec.Taints != nil && len(n.Object.Spec.Taints) == 0, Allocatable: n.Allocatable, Pods: n.Pods, Sources: n.Sources, Unchecked: n.unchecked}
}

// Node returns the node that was stored, with amounts that replace those that are allocatable on
// it.
func (s Saved) Node(allocatable v1.ResourceList) (*Node, error) {
	if s.Err != "" || s.Object == nil {
		return nil, errors.New(s.Err)
	}
	n := &Node{Object: s.Object.DeepCopy(), Allocatable: s.Allocatable, Pods: s.Pods, Sources: s.Sources, unchecked: s.Unchecked}
	if s.Untainted {
		n.Object.Spec.Taints = []v1.Taint{}
	}
	if s.Allocatable == thisMachine {
		n.Allocatable = "the recorded machine"
	}
	if n.Object.Status.Allocatable == nil {
		n.Object.Status.Allocatable = v1.ResourceList{}
	}
	maps.Copy(n.Object.Status.Allocatable, allocatable)
	return n, nil
}
