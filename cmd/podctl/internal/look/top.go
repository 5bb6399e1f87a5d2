package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/inspect"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/usage"
	"github.com/podctl/podctl/internal/pods/view"
)

// topOptions are the options of `podctl top`.
type topOptions struct {
	shell.Globals
	shell.ListOptions
	query      target.Query
	containers bool
	sort       topColumn
}

// topCommand returns the command `podctl top`.
func topCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:  "top",
		Usage: "show what pods or containers use: CPU, memory, processes, network and disk",
		Args: cmdline.Args{Of: cmdline.Target, Many: true, Optional: true, Patterns: true, Words: []cmdline.Choice{
			{Word: "pods", Aliases: []string{"top pod", "top po", "statsp"}},
			{Word: "containers", Aliases: []string{"top container", "stats"}},
		}},
		Effect:    cmdline.Reads,
		OnNodes:   cmdline.NodeList,
		FlagHints: map[string]string{"containers": "podctl top containers"},
		Data:      []any{topItem{}, inspect.Metadata{}, topCPU{}, topMemory{}, topNetwork{}, pod.PSI{}, pod.Stall{}},
		Description: "CPU, THROTTLED, RX/S and TX/S are rates between two samples, --interval apart. CPU% and MEM%\n" +
			"are of the limit. MEMORY is the working set; THROTTLED is the share of periods in which the\n" +
			"CPU limit was reached; DISK is the writable layer. A value that is not known is -, never 0:\n" +
			"that of a container that was started between the samples, or a pod in which one is unknown.\n" +
			"-o wide adds SWAP, and of the kernel's PSI the percentage of the last 10 seconds in which some\n" +
			"tasks, or all (FULL), waited for CPU, memory or I/O. Cgroup v1 has no PSI.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(targetFlags(bySelector),
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "print the list again at each interval; in a pipe or a data format, what changed"},
			shell.NoHeadersFlag(),
			&cli.StringFlag{Name: "sort-by", Aliases: []string{"sort"}, DefaultText: "namespace and name", Usage: "sort by `KEY`: " + strings.Join(topSortKeys(), ", ") + ", largest first; or by a JSONPATH into an object"},
			&cli.DurationFlag{Name: "interval", Value: time.Second, Usage: "`DURATION` between two samples"},
		),
		Action: func(c *cli.Context) error {
			o, err := readTop(c)
			if err != nil {
				return err
			}
			return o.UntilInterrupted(c.Context, e, func(ctx context.Context) error { return runTop(ctx, e, o) })
		},
	}
}

// Bounds of --interval.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

func readTop(c *cli.Context) (topOptions, error) {
	o := topOptions{Globals: shell.ReadGlobals(c)}
	o.ListOptions = shell.ListOptions{Watch: c.Bool("watch"), Full: o.NoTrunc, Period: c.Duration("interval")}
	words := c.Args().Slice()
	if len(words) > 0 {
		switch {
		case words[0] == "container", words[0] == "containers":
			words, o.containers = words[1:], true
		case pod.IsPodKind(words[0]):
			words = words[1:]
		}
	}
	var err error
	if o.query, err = readTarget(c, words); err != nil {
		return o, err
	}
	o.query.AllContainers = true
	if o.Period < minInterval || o.Period > maxInterval {
		return o, shell.Usagef("--interval %s is not from %s to %s", o.Period, minInterval, maxInterval)
	}
	if o.Format, err = shell.ReadOutput(c); err != nil {
		return o, err
	}
	by := c.String("sort-by")
	if i := slices.IndexFunc(topColumns, func(col topColumn) bool { return col.key == by && by != "" }); i >= 0 {
		o.sort = topColumns[i]
		return o, nil
	}
	if wrong, ok := errors.AsType[*output.FormatError](o.Format.SortBy(by)); ok {
		return o, &shell.UsageError{Message: wrong.Message, Advice: "one of: " + strings.Join(topSortKeys(), ", ") + ", or a JSONPATH"}
	}
	return o, nil
}

func runTop(ctx context.Context, e *shell.Env, o topOptions) error {
	s, err := shell.OpenSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	t := &top{
		opts: o, env: e, session: s,
		sampler: usage.Sampler{Runtime: s.Client, Proc: e.Procs, Cgroups: cgroup.Mounts, Now: e.Now},
	}
	empty := "no running pods"
	if o.containers {
		empty = "no running containers"
	}
	return o.Show(ctx, e, empty, t.list)
}

// top samples the pods of a session.
type top struct {
	opts    topOptions
	env     *shell.Env
	session *target.Session
	sampler usage.Sampler
	// last is the sample with which the next one is compared, nil before the first, and sampled is when
	// it was read.
	last    *usage.Snapshot
	sampled time.Time
	// noted is the last note about PSI.
	noted string
	// warned is the last warning about the runtime's statistics.
	warned string
}

// list returns what is used between two samples, an interval apart.
func (t *top) list(ctx context.Context) (output.List, error) {
	last := t.last
	t.last = nil // after an error it is not known what was used meanwhile
	if last != nil {
		if err := t.wait(ctx); err != nil {
			return output.List{}, err
		}
		if err := t.session.List(ctx); err != nil {
			return output.List{}, err
		}
	}
	selected, found := t.selectTargets()
	if t.opts.Watch && target.OnlyErrors(found, target.IsGone) {
		found = nil // a pod that is named may not exist yet, or any more
	}
	if len(selected) == 0 && found != nil {
		return output.List{}, found
	}
	if last == nil {
		t.sampled = t.env.Now()
		first, err := t.sample(ctx, selected)
		if err == nil {
			err = t.wait(ctx)
		}
		if err != nil {
			return output.List{}, err
		}
		last = &first
	}
	t.sampled = t.env.Now()
	now, err := t.sample(ctx, selected)
	if err != nil {
		return output.List{}, err
	}
	t.last = &now
	items := t.items(selected, *last, now)
	if note := psiNote(items); t.opts.Format.IsTable() && (t.opts.Format.IsWide() || t.opts.sort.psi) && note != t.noted {
		fmt.Fprint(t.env.Errw, note)
		t.noted = note
	}
	return topList(t.opts.containers, items), found
}

// wait returns an interval after the last sample.
func (t *top) wait(ctx context.Context) error {
	return shell.Sleep(ctx, t.opts.Period-t.env.Now().Sub(t.sampled))
}

// measured is a pod, and the containers of it that are shown.
type measured struct {
	*view.Pod
	containers []*pod.Container
}

// selectTargets returns what the user names; without a name, what runs. With an
// error it returns what was found in spite of it.
func (t *top) selectTargets() ([]measured, error) {
	if !t.opts.containers {
		pods, err := target.Pods(t.session.Pods, t.opts.query)
		var all []measured
		for _, p := range pods {
			if p.Runtime != nil && (t.opts.query.Names() || p.SandboxReady() || p.RunningContainers() > 0) {
				all = append(all, measured{Pod: p})
			}
		}
		return all, err
	}
	targets, err := target.Containers(t.session.Pods, t.opts.query)
	var all []measured
	for _, found := range targets {
		c := found.Container
		if c == nil && t.opts.query.Names() {
			err = errors.Join(err, &target.NoContainerError{Pod: found.Pod})
		}
		if c == nil || c.State != pod.Running && !t.opts.query.Names() {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Pod == found.Pod {
			all[n-1].containers = append(all[n-1].containers, c)
			continue
		}
		all = append(all, measured{found.Pod, []*pod.Container{c}})
	}
	return all, err
}

// sample reads the pods. What the runtime does not report is unknown, with a warning; only
// if nothing is known of any pod its error is returned.
func (t *top) sample(ctx context.Context, selected []measured) (usage.Snapshot, error) {
	pods := make([]*pod.Pod, len(selected))
	for i, m := range selected {
		pods[i] = m.Runtime
	}
	snap, err := t.sampler.Snapshot(ctx, pods)
	if ctx.Err() != nil {
		return snap, ctx.Err()
	}
	if err != nil && len(snap.Containers) > 0 && !errors.Is(err, cri.ErrUnavailable) {
		t.env.WarnOnce(&t.warned, fmt.Errorf("the runtime does not report statistics, only cgroups are read: %w", err))
		return snap, nil
	}
	return snap, err
}

// items returns what each pod, or container, used between two samples.
func (t *top) items(selected []measured, first, second usage.Snapshot) []topItem {
	used := usage.Rates(first, second)
	var items []topItem
	for _, m := range selected {
		if !t.opts.containers {
			items = append(items, newTopItem(m.Pod, nil, usage.OfPod(m.Runtime, used, first, second)))
			continue
		}
		for _, c := range m.containers {
			items = append(items, newTopItem(m.Pod, c, used[c.ID]))
		}
	}
	if t.opts.sort.key != "" {
		sortTop(items, t.opts.sort)
	}
	return items
}
