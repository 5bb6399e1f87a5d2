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
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/pods/inventory"
)

// terminatingOptions are the options of `podctl terminating`.
type terminatingOptions struct {
	shell.Globals
	inventory.Filter
	shell.ListOptions
}

func terminatingCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "terminating",
		Usage:   "list terminating pods: what still runs, which layer is stuck, and the next command to try",
		Args:    cmdline.Args{Of: cmdline.Pod, Many: true, Optional: true, Patterns: true},
		Effect:  cmdline.Reads,
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
			o := terminatingOptions{Globals: shell.ReadGlobals(c)}
			var err error
			if o.Filter, err = readPodFilter(c); err != nil {
				return err
			}
			if o.ListOptions, err = shell.ReadList(c); err != nil {
				return err
			}
			return runTerminating(c.Context, e, o)
		},
	}
}

func runTerminating(ctx context.Context, e *shell.Env, o terminatingOptions) error {
	return o.UntilInterrupted(ctx, e, func(ctx context.Context) error {
		endpoint, dir, err := shell.FindSockets(ctx, o.Globals)
		if err != nil {
			return err
		}
		o.Runtime, o.Image = endpoint.Runtime, endpoint.Image
		t := terminatingLister{env: e, opts: o, reader: shell.NewReader(e, dir), warn: new(sync.Once)}
		t.reader.Kubelet, t.reader.CountUndesired = owners.KubeletAlways, true
		paths, err := o.Paths(endpoint)
		if err != nil {
			return err
		}
		t.collector = diagnose.Collector{
			PodDirs: paths.Pods(), DirName: paths.Dirs().Name, Proc: e.Procs, Cgroups: cgroup.Mounts, Now: e.Now, Server: cri.ServerOf(endpoint),
		}
		client, stop, err := shell.Connect(ctx, e, o.Globals)
		if err != nil {
			return o.Show(ctx, e, "", func(ctx context.Context) (output.List, error) { return t.reported(ctx, err) })
		}
		defer stop()
		t.client, t.collector.Runtime = client, client
		return o.Show(ctx, e, "no terminating pods", t.list)
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
	env       *shell.Env
	opts      terminatingOptions
	client    *cri.Client
	reader    inventory.Reader
	collector diagnose.Collector
	warn      *sync.Once // about the kubelet
}

func (t terminatingLister) list(ctx context.Context) (output.List, error) {
	all, answers, err := t.reader.Read(ctx, t.client, t.reader.Start(ctx))
	switch {
	case err != nil && t.opts.Watch:
		return output.List{}, err
	case err != nil:
		return t.reported(ctx, err)
	}
	t.collector.Kubelet, err = diagnose.ReadKubelet(&answers.Kubelet, t.env.Procs)
	if err != nil && slices.ContainsFunc(all, func(p *inventory.Pod) bool { return p.Kind() == inventory.KindKubelet }) {
		t.warn.Do(func() {
			fmt.Fprintf(t.env.Errw, "warning: pods of a kubelet are listed on evidence of their processes only: %v\n", err)
		})
	}
	list, unlisted := t.examine(ctx, all)
	all = append(all, unlisted...)
	return list, missing(t.opts.Resolve(all).Unmatched(all), all, t.opts.Watch)
}

// examine returns the terminating ones of the pods that the user selects, and
// the pods that only their directories show.
func (t terminatingLister) examine(ctx context.Context, all []*inventory.Pod) (output.List, []*inventory.Pod) {
	unlisted := t.collector.Unlisted(all)
	shown := slices.Concat(all, unlisted)
	filter := t.opts.Resolve(shown)
	shown = slices.DeleteFunc(shown, func(p *inventory.Pod) bool { return !filter.Selects(p) })
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

// reported returns what live podctl processes report while the runtime does not
// answer, and the runtime's error.
func (t terminatingLister) reported(ctx context.Context, err error) (output.List, error) {
	pods := shell.Reported(t.env, t.reader, t.reader.Start(ctx), err)
	if ctx.Err() != nil {
		return output.List{}, err
	}
	list, _ := t.examine(ctx, pods)
	return list, err
}
