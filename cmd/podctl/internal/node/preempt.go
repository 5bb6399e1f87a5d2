package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pods/arrival"
	"github.com/podctl/podctl/internal/pods/view"
)

// preemptOptions are the options of `podctl preempt`.
type preemptOptions struct {
	shell.Globals
	sources sources.Sources
	// paths are the manifests of the pods that arrive, in order.
	paths []string
	// nodePods are manifests of pods on the node.
	nodePods              []string
	allocatable, reserved v1.ResourceList
	format                output.Format
}

func preemptCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "preempt",
		Usage:       "show which pods the kubelet would preempt for a critical pod, and why",
		Args:        cmdline.Args{Instead: func(file string) string { return "podctl preempt --dry-run -f " + file }},
		Effect:      cmdline.Reads,
		OnRecording: true,
		Description: "The pods on the node are those of the kubelet that uses the runtime, else of live podctl\n" +
			"processes, unless --node-pods, --kubelet or --kubeconfig name other sources. It refuses if\n" +
			"podctl cannot see whether a kubelet uses the runtime, or what is allocatable there, and if pods\n" +
			"of a kubelet run that is stopped or has just been started. Several pods arrive one after the\n" +
			"other. No pod is evicted, and --dry-run says so: a podctl that runs a critical pod preempts by\n" +
			"itself. The exit code is 0 if every pod fits, or would fit after evictions, else 1.\n" +
			"-o is " + output.ReportFormats + ".",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "evict no pod; required"},
			&cli.StringSliceFlag{Name: "filename", Aliases: []string{"f"}, Usage: "`FILE|DIR|URL` of the arriving pod"},
			&cli.StringSliceFlag{Name: "what-if", Usage: "`FILE|DIR|URL` of a pod that arrives next"},
			&cli.StringSliceFlag{Name: "node-pods", DefaultText: "those of the kubelet, else of live podctl processes", Usage: "`FILE|DIR` of the pods on the node"},
			&cli.GenericFlag{Name: "allocatable", Value: &cmdline.ResourceList{}, DefaultText: "the cluster's, podctl's, the kubelet's, or this machine's", Usage: "`LIST` of allocatable amounts, each replacing the detected one: cpu=4,memory=8Gi,pods=110"},
			&cli.GenericFlag{Name: "reserved", Value: &cmdline.ResourceList{}, Usage: "`LIST` of amounts to subtract from this machine's capacity"},
			shell.NoHeadersFlag(),
		}, shell.DesiredFlags()...),
		Action: func(c *cli.Context) error {
			o := preemptOptions{
				Globals: shell.ReadGlobals(c),
				paths:   append(c.StringSlice("filename"), c.StringSlice("what-if")...), nodePods: c.StringSlice("node-pods"),
				allocatable: cmdline.Resources(c, "allocatable"), reserved: cmdline.Resources(c, "reserved"),
			}
			var err error
			if o.sources, err = shell.ReadDesired(c); err != nil {
				return err
			}
			if o.format, err = shell.ReadReportOutput(c); err != nil {
				return err
			}
			for _, source := range []string{"node-pods", "reserved", "kubelet", "kubeconfig"} {
				if e.Recording != nil && c.IsSet(source) {
					return shell.Usagef("--%s is about another node, and cannot be combined with a recording", source)
				}
			}
			switch {
			case len(c.StringSlice("filename")) == 0:
				return &shell.UsageError{Message: "no manifest given", Advice: "podctl preempt --dry-run -f FILE"}
			case !c.Bool("dry-run"):
				return &shell.UsageError{Message: "preempt evicts no pod: a podctl that runs a critical pod preempts by itself", Advice: "add --dry-run to show which pods would be preempted"}
			case o.sources.Kubeconfig != "" && len(o.reserved) > 0:
				return shell.Usagef("--reserved is subtracted from this machine's capacity, and cannot be combined with --kubeconfig")
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runPreempt(ctx, e, o) })
		},
	}
}

// errNotAdmitted: the answer is printed.
var errNotAdmitted = shell.Printed(errors.New("not admitted"))

// runPreempt prints, for each arriving pod, whether it fits and which pods would
// be preempted for it.
func runPreempt(ctx context.Context, e *shell.Env, o preemptOptions) error {
	set, err := manifest.Load(ctx, o.paths, manifest.LoadOptions{Stdin: e.In, ForCluster: true})
	if err == nil && len(set.Pods) == 0 {
		err = fmt.Errorf("no pods in %s", strings.Join(o.paths, ", "))
	}
	if err != nil {
		return err
	}
	n, err := readNode(ctx, e, o)
	if err != nil {
		return err
	}
	var pods []*v1.Pod
	for _, p := range set.Pods {
		pods = append(pods, p.Pod)
	}
	arrivals := n.Admit(pods)
	if o.format.IsTable() {
		err = printArrivals(e, n, arrivals)
	} else {
		err = o.format.PrintObject(e.Out, nil, output.Item{Data: preemption{Sources: n.Sources, Arrivals: arrivals}})
	}
	for _, a := range arrivals {
		if err == nil && !a.Admitted {
			return errNotAdmitted
		}
	}
	return err
}

// readNode reads the node at which the pods arrive.
func readNode(ctx context.Context, e *shell.Env, o preemptOptions) (*arrival.Node, error) {
	if e.Recording != nil {
		if recorded := e.Recording.Node(); recorded != nil {
			return recorded.Node(o.allocatable)
		}
		return nil, view.ErrNotRecorded
	}
	p, err := o.Paths(cri.Endpoint{})
	if err != nil {
		return nil, err
	}
	return arrival.Read(ctx, arrival.Options{
		Sources: o.sources, NodePods: o.nodePods, Allocatable: o.allocatable, Reserved: o.reserved, PodsDir: p.Pods(), Logs: p.Logs,
		Podctls: func(ctx context.Context) ([]*control.Client, error) { return shell.LivePodctls(ctx, e, o.Globals) },
		Kubelet: func(ctx context.Context) (*kubelet.Process, error) {
			endpoint, _, err := shell.FindSockets(ctx, o.Globals)
			if err != nil {
				return nil, err
			}
			return kubelet.Find(ctx, endpoint.Runtime)
		},
		KubeletPods: func(ctx context.Context) (int, error) { return kubeletPods(ctx, e, o.Globals) },
	})
}

// kubeletPods returns how many running pods a kubelet created.
func kubeletPods(ctx context.Context, e *shell.Env, g shell.Globals) (int, error) {
	client, stop, err := shell.Connect(ctx, e, g)
	if err != nil {
		return 0, err
	}
	defer stop()
	listed, err := client.ListPods(ctx)
	if err != nil {
		return 0, err
	}
	running := 0
	for _, p := range listed {
		if p.MadeByKubelet() && p.MayBeRunning() {
			running++
		}
	}
	return running, nil
}
