package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/look"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
)

// What podctl has in place of flags of crictl pods.
const (
	newestLast  = "--sort-by .metadata.creationTimestamp"
	onlyRunning = "-o jsonpath='{[?(@.status==\"Running\")].metadata.name}'"
	endedToo    = "podctl pods lists pods that have ended, too; -A is all namespaces"
)

func podsCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "pods",
		Usage:       "list the pods of the runtime: status, owner, ready containers, restarts, IP, age",
		Args:        cmdline.Args{Of: cmdline.Pod, Many: true, Optional: true, Patterns: true},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.NodeList,
		Aliases:     []string{"po", "pod", "ls", "list", "get pods", "get pod", "get po"},
		FlagHints: map[string]string{
			"name": "podctl pods POD", "pod": "podctl pods POD", "id": "podctl pods POD", "label": "--selector",
			"latest": newestLast, "last": newestLast, "s": onlyRunning, "state": onlyRunning, "a": endedToo, "all": endedToo,
		},
		Description: "Lists all pods of the runtime, whatever created them, and those that live podctl processes\n" +
			"are about to create. WORKER is the phase of the pod's worker in the podctl process that\n" +
			"manages it. OWNER is a podctl process, kubelet or other; (exited) marks a podctl process that has\n" +
			"exited. The IP of a pod that neither a podctl process nor a kubelet reports takes a call for each\n" +
			fmt.Sprintf("pod; of more than %d such pods it is read for -o wide and structured formats only.\n", view.MaxIPReads) +
			"-o is " + output.Formats + ".",
		Flags: append(append(podFilterFlags(), shell.ListFlags()...),
			&cli.StringFlag{Name: "owner", Usage: "only pods of this `OWNER`: a podctl instance; or podctl, kubelet, other"},
			&cli.BoolFlag{Name: "terminating", Usage: "only terminating pods"},
			&cli.BoolFlag{Name: "orphans", Usage: "only pods whose podctl process has exited"},
		),
		Action: func(c *cli.Context) error {
			o, err := readPodList(c)
			if err != nil {
				return err
			}
			o.Owner, o.Terminating, o.Abandoned = c.String("owner"), c.Bool("terminating"), c.Bool("orphans")
			return runPods(c.Context, e, o)
		},
	}
}

// podFilterFlags are those of readPodFilter.
func podFilterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, DefaultText: "all", Usage: "only pods of this `NAMESPACE`"},
		&cli.BoolFlag{Name: "all-namespaces", Aliases: []string{"A"}, Usage: "pods of all namespaces, even with --namespace"},
		shell.SelectorFlag(),
	}
}

func readPodFilter(c *cli.Context) (view.Filter, error) {
	f := view.Filter{Namespace: c.String("namespace")}
	if c.Bool("all-namespaces") {
		f.Namespace = ""
	}
	var err error
	if f.Names, err = readPodNames(c.Args().Slice()); err != nil {
		return f, err
	}
	f.Selector, err = shell.ReadSelector(c)
	return f, err
}

// readPodNames reads [NAMESPACE/]POD, with a kind before it as kubectl writes it: pod
// NAME, pod/NAME.
func readPodNames(words []string) ([]string, error) {
	if len(words) > 1 && pod.IsPodKind(words[0]) {
		words = words[1:]
	}
	var names []string
	for _, word := range words {
		name := word
		if kind, rest, ok := strings.Cut(word, "/"); ok && pod.IsPodKind(kind) {
			name = rest
		}
		if _, err := path.Match(name, ""); err != nil || name == "" || strings.Count(name, "/") > 1 {
			return nil, shell.Usagef("%q is not a name of a pod: [NAMESPACE/]POD", word)
		}
		names = append(names, name)
	}
	return names, nil
}

func runPods(ctx context.Context, e *shell.Env, o podListOptions) error {
	return o.UntilInterrupted(ctx, e, func(ctx context.Context) error {
		reader, err := o.newReader(ctx, e)
		if err != nil {
			return err
		}
		p := &podLister{env: e, opts: o, reader: reader, close: func() {}}
		defer func() { p.close() }()
		return o.Show(ctx, e, "no pods", p.list)
	})
}

// podLister lists the pods of a runtime.
type podLister struct {
	env    *shell.Env
	opts   podListOptions
	reader *view.Reader
	// client is nil before the first list.
	client *cri.Client
	close  func()
	// warned is the last warning about what was not read.
	warned string
}

func (l *podLister) list(ctx context.Context) (output.List, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	begun := l.reader.Start(asking) // while podctl connects
	all, err := l.join(ctx, begun)
	if err != nil {
		if l.opts.Watch {
			return output.List{}, err
		}
		if all = shell.Reported(l.env, l.reader, begun, err); len(all) == 0 {
			return output.List{}, err
		}
	}
	filter := l.opts.Resolve(all)
	selected := slices.DeleteFunc(slices.Clone(all), func(p *view.Pod) bool { return !filter.Selects(p) })
	var broken map[string]*view.Container
	if err == nil {
		l.reader.ReadStatuses(ctx, selected, l.opts.Format.IsWide())
		l.env.WarnOnce(&l.warned, unreadError(selected))
		broken = l.reader.BrokenProcesses(ctx, selected)
	}
	return podListing(selected, broken, l.env.Now(), l.opts.NoTrunc), errors.Join(err, missing(filter.Unmatched(selected), all, l.opts.Watch))
}

// unreadError names the pods about which the runtime did not tell all, nil if there are none.
func unreadError(pods []*view.Pod) error {
	var names []string
	var first error
	for _, p := range pods {
		if p.ReadError() != nil {
			names, first = append(names, p.DisplayName()), cmp.Or(first, p.ReadError())
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("not read: %s: %w", strings.Join(names, ", "), first)
}

func (l *podLister) join(ctx context.Context, asking *owners.PendingAnswers) ([]*view.Pod, error) {
	if l.client == nil {
		client, stop, err := shell.Connect(ctx, l.env, l.opts.Globals)
		if err != nil {
			return nil, err
		}
		l.client, l.reader.Runtime, l.close = client, client, stop
	}
	pods, _, err := l.reader.List(ctx, l.client, asking)
	return pods, err
}

// missing is an error for each name that stands for no pod, with what is near among all. A
// pattern may match none, and a watched pod may not exist yet.
func missing(unmatched []string, all []*view.Pod, watch bool) error {
	var errs []error
	for _, name := range unmatched {
		if watch || strings.ContainsAny(name, `*?[\`) {
			continue
		}
		errs = append(errs, target.NotFound(all, name))
	}
	return errors.Join(errs...)
}

func podListing(pods []*view.Pod, broken map[string]*view.Container, now time.Time, full bool) output.List {
	l := output.List{
		Header: []string{"POD", "STATUS", "WORKER", "OWNER", "READY", "RESTARTS", "IP", "AGE"},
		Wide:   []string{"UID", "SANDBOX"},
	}
	for _, p := range pods {
		d := look.NewPodData(p)
		ip, sandbox := "-", "-"
		switch {
		case len(d.IPs) > 0:
			ip = d.IPs[0]
		case p.ReadError() != nil && p.SandboxReady() && p.RuntimeStatus == nil:
			ip = "unknown"
		}
		if d.Sandbox != "" {
			sandbox = d.Sandbox
			if !full {
				sandbox = pod.ShortID(sandbox)
			}
		}
		age := "-"
		if started := p.Began(); !started.IsZero() {
			age = output.Age(now.Sub(started))
		}
		broken := brokenNotes(p, &d, broken)
		var notes []string
		if reason := output.OneLine(pod.ErrorText(d.NotReady())); reason != "" {
			notes = append(notes, "  not ready: "+reason)
		}
		if others := d.AlsoRunning(); others != "" {
			notes = append(notes, "  also running: "+others)
		}
		l.Items = append(l.Items, output.Item{
			Name: p.CLIName(), Data: d,
			Cells: []string{
				p.DisplayName(), d.Status, cmp.Or(d.Worker, "-"), ownerText(p), fmt.Sprintf("%d/%d", d.Ready, d.Containers),
				strconv.Itoa(int(d.Restarts)), ip, age,
			},
			Notes: broken, Wide: []string{d.Metadata.UID, sandbox}, WideNotes: notes,
		})
	}
	return l
}

// brokenNotes returns lines about containers that run according to the runtime and do not, and sets
// STATUS to the first.
func brokenNotes(p *view.Pod, d *look.PodData, broken map[string]*view.Container) []string {
	var lines []string
	for _, c := range p.ListedContainers() {
		b := broken[c.ID]
		if b == nil {
			continue
		}
		text, next := why.BrokenText(p.CLIName(), b)
		if d.Broken = append(d.Broken, text); len(d.Broken) == 1 {
			d.Status = map[bool]string{true: "ProcessGone", false: "Frozen"}[b.Gone]
		}
		lines = append(lines, notes(why.Observed, []string{text}, next)...)
	}
	return lines
}

// ownerText is the owner, "(exited)" if its process has.
func ownerText(p *view.Pod) string {
	if !p.Managed() && p.Abandoned() {
		return p.OwnerName() + " (exited)"
	}
	return p.OwnerName()
}
