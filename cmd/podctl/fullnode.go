package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
)

// fullNode is the node to which a pod comes.
type fullNode struct {
	// node has what is known of it: its name, labels and taints if a cluster was
	// asked, and what is allocatable in any case.
	node *v1.Node
	// allocatable says where that comes from, for people.
	allocatable string
	// pods are those that hold requests.
	pods    []*v1.Pod
	sources []podSource
	// podctls were asked for the pods.
	podctls []*control.Client
}

// podSource is somebody who was asked for the pods on the node.
type podSource struct {
	Name string `json:"name"` // "kubelet http://127.0.0.1:10255"
	Pods int    `json:"pods"` // those that hold requests
}

func readFullNode(ctx context.Context, e *env, o preemptOptions) (*fullNode, error) {
	cluster, err := o.cluster()
	if err != nil {
		return nil, err
	}
	full := &fullNode{node: &v1.Node{}, allocatable: "this machine"}
	if cluster != nil {
		if full.node, err = cluster.Node(ctx); err != nil {
			return nil, err
		}
		full.allocatable = "node " + full.node.Name
	} else {
		p, err := o.globals.paths(cri.Endpoint{})
		if err != nil {
			return nil, err
		}
		facts, err := host.ReadFacts(p.Pods(), p.Logs, "")
		if err != nil {
			return nil, err
		}
		full.node.Status.Allocatable = admission.Allocatable(facts, nil, o.reserved)
		full.askKubelet(ctx, e, o, facts)
	}
	if err := full.ask(ctx, e, o, cluster); err != nil {
		return nil, err
	}
	maps.Copy(full.node.Status.Allocatable, o.allocatable)
	return full, nil
}

// ask asks all sources for the pods on the node. Who cannot be read leaves the
// question open, so that is an error. Several may name one pod.
func (f *fullNode) ask(ctx context.Context, e *env, o preemptOptions, cluster *desired.Cluster) error {
	answers := o.answers(ctx, cluster)
	if len(o.nodePods) > 0 {
		answers = append(answers, desired.Files(ctx, nil, o.nodePods...))
	}
	if len(answers) == 0 {
		var err error
		if f.podctls, err = livePodctls(ctx, e, o.globals); err != nil {
			return err
		}
		instance, allocatable, err := bound(ctx, f.podctls)
		if err != nil {
			return err
		}
		if allocatable != nil && o.reserved == nil {
			f.node.Status.Allocatable, f.allocatable = allocatable, instance
		}
		answers = livePods(ctx, f.podctls)
	}
	var errs []error
	seen := map[string]bool{}
	for _, a := range answers {
		if a.Err != nil {
			errs = append(errs, a.Err)
			continue
		}
		source := podSource{Name: a.Source}
		for _, p := range preempt.Active(a.Pods) {
			if name := p.Namespace + "/" + p.Name; !seen[name] {
				seen[name] = true
				source.Pods++
				f.pods = append(f.pods, p)
			}
		}
		f.sources = append(f.sources, source)
	}
	return errors.Join(errs...)
}

// evict has the victims evicted by the podctls that run them, one after the
// other. One that cannot be evicted ends it: the pod is not admitted.
func (f *fullNode) evict(ctx context.Context, e *env, o preemptOptions, arrivals []arrival) error {
	for _, a := range arrivals {
		for _, v := range a.Plan.Victims {
			name := pod.DisplayName(v.Namespace, v.Name)
			if err := f.evictOne(ctx, v); err != nil {
				return fmt.Errorf("%s is not admitted: evict %s: %w", a.Pod, name, err)
			}
			if o.output == "" {
				fmt.Fprintf(e.out, "evicted %s\n", name)
			}
		}
	}
	return nil
}

func (f *fullNode) evictOne(ctx context.Context, v *v1.Pod) error {
	for _, c := range f.podctls {
		if err := c.Preempt(ctx, v.Namespace, v.Name); !errors.Is(err, control.ErrNotFound) {
			return err
		}
	}
	return control.ErrNotFound
}

// asked names the sources, for people.
func (f *fullNode) asked() string {
	if len(f.sources) == 0 {
		return "no podctl lives on this runtime"
	}
	var all []string
	for _, s := range f.sources {
		all = append(all, fmt.Sprintf("%s (%s)", s.Name, output.Plural(s.Pods, "pod")))
	}
	return strings.Join(all, ", ")
}
