package pods

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/pods/inventory"
)

func terminatingCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "terminating",
		Usage:   "list terminating pods: what still runs, which layer is stuck, and the next command to try",
		Args:    cmdline.Args{Of: cmdline.Pod, Many: true, Optional: true, Patterns: true},
		Effect:  cmdline.Reads,
		OnTape:  true,
		OnNodes: cmdline.NodeList,
		Data:    []any{TerminatingPod{}, terminatingMetadata{}, terminatingContainer{}},
		Description: "A pod is listed if the podctl process that owns it terminates it. Other pods are listed on\n" +
			"evidence: their podctl process exited while it terminated them; the sandbox has stopped and\n" +
			"containers still run, or the network of a pod that nothing manages was not torn down; a\n" +
			"process has exited, or has a signal pending, although the runtime reports it as running;\n" +
			"their shim is stopped; the kubelet names them as deleted, as failed or succeeded while they\n" +
			"run, or no longer.\n" +
			"GRACE is the rest of the grace period, negative once it is exceeded. LAYER is what the pod\n" +
			"waits for: hook (preStop), process, cgroup (frozen), shim, runtime, network, volume, lock or\n" +
			"worker; - while nothing is stuck. A process that podctl cannot see is shown as hidden.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(podFilterFlags(), shell.ListFlags()...),
		Action: func(c *cli.Context) error {
			o, err := readPodList(c)
			if err != nil {
				return err
			}
			return runTerminating(c.Context, e, o)
		},
	}
}

func runTerminating(ctx context.Context, e *shell.Env, o podListOptions) error {
	return o.UntilInterrupted(ctx, e, func(ctx context.Context) error {
		endpoint, dir, err := shell.FindSockets(ctx, o.Globals)
		if err != nil {
			return err
		}
		o.Runtime, o.Image = endpoint.Runtime, endpoint.Image
		paths, err := o.Paths(endpoint)
		if err != nil {
			return err
		}
		t := &terminatingLister{stuckLister: stuckLister{env: e, opts: o, reader: shell.NewReader(e, dir)}}
		t.examine = t.examinePods
		t.reader.Kubelet, t.reader.CountUndesired = owners.KubeletAlways, true
		t.collector = diagnose.Collector{
			PodDirs: paths.Pods(), DirName: paths.Dirs().Name, Proc: e.Procs, Cgroups: e.CgroupMounts(), Now: e.Now, Server: e.ServerOf(endpoint),
		}
		return t.show(ctx, "no terminating pods", func(client *cri.Client) { t.collector.Runtime = client })
	})
}

// terminating is a pod that is being terminated, with the facts about it.
type terminating struct {
	*inventory.Pod
	owner string
	facts *diagnose.Facts
}

// terminatingLister lists terminating pods.
type terminatingLister struct {
	stuckLister
	collector diagnose.Collector
	warn      sync.Once // about the kubelet
}

// examinePods returns the terminating ones of the pods that the user selects, and the pods that
// only their directories show.
func (t *terminatingLister) examinePods(ctx context.Context, all []*inventory.Pod, answers *owners.Answers) (output.List, []*inventory.Pod) {
	if answers != nil {
		t.askKubelet(&answers.Kubelet, all)
	}
	unlisted := t.collector.Unlisted(all)
	shown := t.selected(all, unlisted)
	var found []*terminating
	for i, f := range t.collector.Terminating(ctx, shown) {
		if f == nil {
			continue
		}
		name := string(inventory.KindKubelet)
		if shown[i].Manager != nil || shown[i].Runtime != nil {
			name = ownerText(shown[i])
		}
		found = append(found, &terminating{shown[i], name, f})
	}
	return terminatingList(found, t.env.Now()), unlisted
}

// askKubelet reads what the kubelet says of its pods, and warns if that is not known.
func (t *terminatingLister) askKubelet(k *owners.Kubelet, all []*inventory.Pod) {
	var err error
	t.collector.Kubelet, err = diagnose.ReadKubelet(k, t.env.Procs)
	if err != nil && slices.ContainsFunc(all, func(p *inventory.Pod) bool { return p.Kind() == inventory.KindKubelet }) {
		t.warn.Do(func() {
			fmt.Fprintf(t.env.Errw, "warning: pods of a kubelet are listed on evidence of their processes only: %v\n", err)
		})
	}
}
