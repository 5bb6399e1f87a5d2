package main

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri"
)

// podsOptions are what `podctl pods` was asked for.
type podsOptions struct {
	globals
	podFilter
	printer output.Format
}

// podFilter says which pods are shown. The zero value is all of them.
type podFilter struct {
	namespace string
	// names are of pods, or NAMESPACE/NAME, with * and ?.
	names    []string
	selector labels.Selector // of the sandbox's labels; nil is any
	owner    string
	// terminating and orphans: only pods on their way down, and only those whose
	// podctl is gone.
	terminating, orphans bool
}

func podsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "pods",
		Usage:     "list the pods of the runtime: phase, owner, ready containers, restarts, IP, age",
		ArgsUsage: "[NAMESPACE/]NAME …",
		Description: "All pods that the runtime holds, whoever made them, and those that podctls beside this\n" +
			"one are about to make. WORKER is where the podctl that manages a pod has got to with it.\n" +
			"OWNER is that podctl, (gone) if it has died; kubelet; or other. The IP of a pod that no\n" +
			"podctl manages is read for -o wide and the like only: it takes a call for each pod.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(podFilterFlags(),
			&cli.StringFlag{Name: "owner", Usage: "only pods of this `OWNER`: the name of a podctl; or podctl, kubelet, other"},
			&cli.BoolFlag{Name: "terminating", Usage: "only pods on their way down"},
			&cli.BoolFlag{Name: "orphans", Usage: "only pods whose podctl has died"},
		),
		Action: func(c *cli.Context) error {
			o := podsOptions{globals: readGlobals(c)}
			var err error
			if o.podFilter, err = readPodFilter(c); err != nil {
				return err
			}
			o.owner, o.terminating, o.orphans = c.String("owner"), c.Bool("terminating"), c.Bool("orphans")
			if o.printer, err = readFormat(o.output); err != nil {
				return err
			}
			return runPods(c.Context, e, o)
		},
	}
}

// podFilterFlags are those of readPodFilter.
func podFilterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "only pods of this `NAMESPACE`"},
		&cli.StringFlag{Name: "selector", Aliases: []string{"l"}, Usage: "only pods with these `LABELS`: app=web,tier!=db"},
	}
}

func readPodFilter(c *cli.Context) (podFilter, error) {
	f := podFilter{namespace: c.String("namespace"), names: c.Args().Slice()}
	for _, name := range f.names {
		if _, err := path.Match(name, ""); err != nil {
			return f, usagef("%q is no name of a pod", name)
		}
	}
	if text := c.String("selector"); text != "" {
		var err error
		if f.selector, err = labels.Parse(text); err != nil {
			return f, usagef("--selector %q: %v", text, err)
		}
	}
	return f, nil
}

func (f podFilter) shows(h *heldPod) bool {
	switch {
	case f.namespace != "" && h.namespace != f.namespace:
		return false
	case len(f.names) > 0 && !slices.ContainsFunc(f.names, func(name string) bool { return named(h, name) }):
		return false
	case f.selector != nil && !f.selector.Matches(labels.Set(h.pod.SandboxLabels())):
		return false
	case f.owner != "" && f.owner != h.kind() && f.owner != h.creator && (!h.managed() || f.owner != h.manager.Instance()):
		return false
	case f.terminating && !h.terminating(), f.orphans && !h.abandoned():
		return false
	}
	return true
}

// named tells whether the pattern is of the pod's name, with its namespace or
// without.
func named(h *heldPod, pattern string) bool {
	name := h.name
	if strings.Contains(pattern, "/") {
		name = h.namespace + "/" + h.name
	}
	match, err := path.Match(pattern, name)
	return match && err == nil
}

// runPods lists the pods once.
func runPods(ctx context.Context, e *env, o podsOptions) error {
	endpoint, dir, err := findSockets(ctx, o.globals)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, err := askPodctls(ctx, e, dir) // while podctl connects
	if err != nil {
		return err
	}
	o.runtime, o.image = endpoint.Runtime, endpoint.Image
	client, stop, err := connect(ctx, e, o.globals)
	if err != nil {
		return err
	}
	defer stop()
	all, err := heldBeside(ctx, e, client, dir, answers)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(h *heldPod) bool { return !o.shows(h) })
	if o.printer.IsWide() {
		readStatuses(ctx, client, all)
	}
	if len(all) == 0 && o.printer.IsTable() {
		fmt.Fprintln(e.errw, "no pods")
	}
	return o.printer.Print(e.out, podListing(all, e.now(), o.noTrunc))
}

// socketDir is where the podctls of a runtime have their locks and sockets.
func socketDir(g globals, endpoint cri.Endpoint) (string, error) {
	p, err := g.paths(endpoint)
	return p.Locks, err
}

// readStatuses reads the status of those pods that no podctl manages. What
// cannot be read is not shown.
func readStatuses(ctx context.Context, client *cri.Client, pods []*heldPod) {
	var g errgroup.Group
	g.SetLimit(16)
	for _, h := range pods {
		if h.manager == nil {
			g.Go(func() error {
				if st, err := client.PodStatus(ctx, h.pod); err == nil {
					h.status = st
				}
				return nil
			})
		}
	}
	_ = g.Wait() // there are none
}

// heldPodData is one pod of `podctl pods -o json`.
type heldPodData struct {
	Metadata struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               string            `json:"uid"`
		Labels            map[string]string `json:"labels,omitempty"`
		CreationTimestamp time.Time         `json:"creationTimestamp,omitzero"` // when it began
	} `json:"metadata"`
	Phase      string   `json:"phase"`             // Pending, Running, Succeeded, Failed, Terminating, Rejected; Exited
	Worker     string   `json:"worker,omitempty"`  // syncing, terminating, terminated, finished; "" if no podctl manages it
	Kind       string   `json:"kind"`              // podctl, kubelet, other
	Owner      string   `json:"owner,omitempty"`   // of podctl's the one that manages it, else the one that made it
	Abandoned  bool     `json:"abandoned"`         // that one has died
	Ready      int      `json:"ready"`             // containers
	Containers int      `json:"containers"`        // of the pod
	Restarts   int32    `json:"restarts"`          // of all of them
	IPs        []string `json:"ips,omitempty"`     // primary first
	Sandbox    string   `json:"sandbox,omitempty"` // the newest one's id
	Reason     string   `json:"reason,omitempty"`  // why it was rejected, or the worker's last error
}

func podListing(pods []*heldPod, now time.Time, full bool) output.List {
	l := output.List{
		Header: []string{"POD", "PHASE", "WORKER", "OWNER", "READY", "RESTARTS", "IP", "AGE"},
		Wide:   []string{"UID", "SANDBOX"},
	}
	for _, h := range pods {
		d := h.data()
		ip, sandbox, uid := "-", "-", d.Metadata.UID
		if len(d.IPs) > 0 {
			ip = d.IPs[0]
		}
		if d.Sandbox != "" {
			sandbox = idText(d.Sandbox, full)
		}
		age := "-"
		if began := h.began(); !began.IsZero() {
			age = output.Age(now.Sub(began))
		}
		l.Items = append(l.Items, output.Item{
			Name: h.displayName(), Data: d,
			Cells: []string{
				h.displayName(), d.Phase, cmp.Or(d.Worker, "-"), h.owner(), fmt.Sprintf("%d/%d", d.Ready, d.Containers),
				strconv.Itoa(int(d.Restarts)), ip, age,
			},
			Wide: []string{uid, sandbox},
		})
	}
	return l
}

func (h *heldPod) data() heldPodData {
	d := heldPodData{
		Phase: h.phase(), Worker: h.worker.Phase, Kind: h.kind(), Owner: h.creator, Abandoned: h.abandoned(),
		Restarts: h.restarts(), IPs: h.ips(), Reason: cmp.Or(h.worker.Rejected, h.worker.LastError.Text),
	}
	if d.Worker == "unknown" {
		d.Worker = "" // no worker has it
	}
	if h.managed() || h.pod == nil {
		d.Owner = h.manager.Instance()
	}
	d.Metadata.Namespace, d.Metadata.Name, d.Metadata.UID = h.namespace, h.name, string(h.uid)
	d.Metadata.Labels, d.Metadata.CreationTimestamp = h.pod.SandboxLabels(), h.began()
	d.Ready, d.Containers = h.ready()
	if h.pod != nil && len(h.pod.Sandboxes) > 0 {
		d.Sandbox = h.pod.Sandboxes[0].ID
	}
	return d
}
