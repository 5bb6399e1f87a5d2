package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/manifest"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
)

// preemptOptions are what `podctl preempt` was asked for.
type preemptOptions struct {
	globals
	desiredOptions
	// paths are the manifests of the pods that arrive, in their order.
	paths []string
	// nodePods name manifests of pods that are on the node.
	nodePods              []string
	allocatable, reserved v1.ResourceList
	dryRun, explain       bool
}

func preemptCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "preempt",
		Usage: "say whom a critical pod would evict from a full node, and why; or evict them",
		Description: "The pods on the node are those of live podctl processes, unless --node-pods,\n" +
			"--kubelet or --kubeconfig name others. Several pods arrive one after the other.\n" +
			"Without --dry-run the victims are evicted, with their own grace, if podctl runs them.\n" +
			"The exit code is 0 if each pod fits, or does after evictions, else 1.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "evict nobody"},
			&cli.StringSliceFlag{Name: "filename", Aliases: []string{"f"}, Usage: "`FILE|DIR|URL` of the pod that arrives"},
			&cli.StringSliceFlag{Name: "what-if", Usage: "`FILE|DIR|URL` of a pod that arrives after it"},
			&cli.StringSliceFlag{Name: "node-pods", DefaultText: "live podctl processes", Usage: "`FILE|DIR` of pods that are on the node"},
			&cli.GenericFlag{Name: "allocatable", Value: &resourceList{}, DefaultText: "the cluster's, podctl's, the kubelet's, or this machine's", Usage: "`LIST` of what pods may request, for what it names: cpu=4,memory=8Gi,pods=110"},
			&cli.GenericFlag{Name: "reserved", Value: &resourceList{}, Usage: "`LIST` of what goes off this machine's capacity"},
			&cli.BoolFlag{Name: "explain", Usage: "walk through the rounds"},
		}, desiredFlags()...),
		Action: func(c *cli.Context) error {
			o := preemptOptions{
				globals: readGlobals(c), dryRun: c.Bool("dry-run"), explain: c.Bool("explain"),
				paths: append(c.StringSlice("filename"), c.StringSlice("what-if")...), nodePods: c.StringSlice("node-pods"),
				allocatable: readResources(c, "allocatable"), reserved: readResources(c, "reserved"),
			}
			var err error
			if o.desiredOptions, err = readDesired(c); err != nil {
				return err
			}
			switch {
			case len(c.StringSlice("filename")) == 0:
				return &usageError{message: "no manifest given", hint: "podctl preempt --dry-run -f FILE"}
			case c.NArg() > 0:
				return &usageError{message: fmt.Sprintf("%q is no flag", c.Args().First()), hint: "podctl preempt --dry-run -f " + c.Args().First()}
			case o.output != "" && o.output != "json":
				return usagef("--output %q: preempt prints text, or json", o.output)
			case !o.dryRun && (o.askKubelet || o.kubeconfig != "" || len(o.nodePods) > 0 || len(c.StringSlice("what-if")) > 0):
				return &usageError{message: "only pods of live podctl processes can be evicted", hint: "podctl preempt --dry-run says whom others would evict"}
			case o.kubeconfig != "" && len(o.reserved) > 0:
				return usagef("--reserved goes off this machine's capacity, and --kubeconfig asks for the node's allocatable")
			}
			return e.untilInterrupted(c.Context, func(ctx context.Context) error { return runPreempt(ctx, e, o) })
		},
	}
}

// errNotAdmitted: the answer is on the screen.
var errNotAdmitted = &saidError{errors.New("not admitted")}

// runPreempt asks, for one arriving pod after the other, whether it fits and
// whom it would evict.
func runPreempt(ctx context.Context, e *env, o preemptOptions) error {
	set, err := manifest.Load(ctx, o.paths, manifest.LoadOptions{Stdin: e.in, Elsewhere: true})
	if err == nil && len(set.Pods) == 0 {
		err = fmt.Errorf("no pods in %s", strings.Join(o.paths, ", "))
	}
	if err != nil {
		return err
	}
	full, err := readFullNode(ctx, e, o)
	if err != nil {
		return err
	}
	arrivals := arrive(full, set.Pods)
	if o.output == "json" {
		err = printJSON(e, preemption{Sources: full.sources, Arrivals: arrivals})
	} else {
		err = printArrivals(e, o, full, arrivals)
	}
	for _, a := range arrivals {
		if err == nil && !a.Admitted {
			return errNotAdmitted
		}
	}
	if err != nil || o.dryRun {
		return err
	}
	return full.evict(ctx, e, o, arrivals)
}

// arrival is one pod that came to the node, and what became of it.
type arrival struct {
	Pod               preempt.PodRef `json:"pod"`
	*preempt.Decision `json:",inline"`
}

// arrive lets pods come to the node one after the other: each finds those
// before it that were admitted, and not those that had to go for them.
func arrive(full *fullNode, pods []*manifest.Pod) []arrival {
	var all []arrival
	on := full.pods
	for _, loaded := range pods {
		p := loaded.Pod
		d := preempt.Admit(p, full.node, on)
		all = append(all, arrival{Pod: preempt.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, Decision: d})
		if d.Admitted {
			on = append(d.Plan.Survivors(others(on, p)), p)
		}
	}
	return all
}

// others are the pods but for the one itself, which may be on the node.
func others(pods []*v1.Pod, p *v1.Pod) []*v1.Pod {
	var all []*v1.Pod
	for _, q := range pods {
		if q.UID != p.UID && pod.FullNameOf(q) != pod.FullNameOf(p) {
			all = append(all, q)
		}
	}
	return all
}
