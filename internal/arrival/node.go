package arrival

import (
	"context"
	"errors"
	"maps"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/preempt"
	"github.com/podctl/podctl/internal/render"
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
	// Warnings are about what was assumed.
	Warnings []Warning

	podctls []*control.Client
}

// Source is a source of the pods on the node.
type Source struct {
	Name string `json:"name"` // "kubelet http://127.0.0.1:10255"
	Pods int    `json:"pods"` // active pods
}

// Warning is an assumption about the node, and how to replace it by a fact.
type Warning struct{ Text, Hint string }

// Options say which node is read, and how.
type Options struct {
	// Sources are the kubelet and the cluster that were named, NodePods are
	// manifests of pods on the node.
	Sources  desired.Sources
	NodePods []string
	// Allocatable replaces amounts of what is allocatable; Reserved is subtracted
	// from this machine's capacity.
	Allocatable, Reserved v1.ResourceList
	// PodsDir and Logs are directories on the file systems that hold pods' storage.
	PodsDir, Logs string
	// Podctls returns clients of the live podctl processes: the pods on the node
	// are theirs where no other source is named.
	Podctls func(context.Context) ([]*control.Client, error)
}

// Read reads the node.
func Read(ctx context.Context, o Options) (*Node, error) {
	cluster, err := o.Sources.Cluster()
	if err != nil {
		return nil, err
	}
	n := &Node{Object: &v1.Node{}, Allocatable: "this machine"}
	if cluster != nil {
		if n.Object, err = cluster.Node(ctx); err != nil {
			return nil, err
		}
		n.Allocatable = "node " + n.Object.Name
	} else {
		facts, err := host.ReadFacts(o.PodsDir, o.Logs, "")
		if err != nil {
			return nil, err
		}
		n.Object.Status.Allocatable = admission.Allocatable(facts, nil, o.Reserved)
		n.askKubelet(ctx, o, facts)
	}
	if err := n.ask(ctx, o, cluster); err != nil {
		return nil, err
	}
	maps.Copy(n.Object.Status.Allocatable, o.Allocatable)
	return n, nil
}

// ask asks all sources for the pods on the node. Several may name one pod.
func (n *Node) ask(ctx context.Context, o Options, cluster *desired.Cluster) error {
	answers := o.Sources.Answers(ctx, cluster)
	if len(o.NodePods) > 0 {
		answers = append(answers, desired.Files(ctx, nil, o.NodePods...))
	}
	if len(answers) == 0 {
		var err error
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

// askKubelet makes allocatable what the kubelet that was named lets pods
// request, with a warning if that is not known.
func (n *Node) askKubelet(ctx context.Context, o Options, facts *render.Node) {
	if !o.Sources.AskKubelet {
		return
	}
	at := o.Sources.Kubelet
	if !at.Local() {
		n.Warnings = append(n.Warnings, Warning{
			Text: "what is allocatable at " + at.URL + " is not known; using this machine's capacity",
			Hint: "pass --allocatable, or --kubeconfig to read the node object",
		})
		return
	}
	r, err := at.Reservation(ctx)
	if err != nil {
		n.Warnings = append(n.Warnings, Warning{Text: "the kubelet's configuration cannot be read, using its defaults: " + err.Error()})
		return
	}
	n.Object.Status.Allocatable, n.Allocatable = kubeletAllocatable(facts, r, o.Reserved), "kubelet "+at.URL
}
