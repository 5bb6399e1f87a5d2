package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/inventory"
)

// terminatingOptions are what `podctl terminating` was asked for.
type terminatingOptions struct {
	globals
	inventory.Filter
	printer output.Format
	watch   bool
}

func terminatingCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "terminating",
		Usage:     "list the pods on their way down: what still runs, which layer is stuck, what to type next",
		ArgsUsage: "[NAMESPACE/]NAME …",
		Description: "What podctls beside this one are ending they say themselves. Of other pods the runtime and\n" +
			"/proc show it: a podctl that died while it ended one; a sandbox that has stopped before its\n" +
			"containers; a process that has ended, or was told to, though the runtime says that it runs.\n" +
			"GRACE is what is left, negative once it is overrun. LAYER is what the pod waits for: process,\n" +
			"shim, runtime, network, volume or worker; - while nothing is stuck.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(podFilterFlags(),
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "go on, and print what changes; with -o json an object a line"},
		),
		Action: func(c *cli.Context) error {
			o := terminatingOptions{globals: readGlobals(c), watch: c.Bool("watch")}
			var err error
			if o.Filter, err = readPodFilter(c); err != nil {
				return err
			}
			if o.printer, err = readFormat(o.output); err != nil {
				return err
			}
			return runTerminating(c.Context, e, o)
		},
	}
}

func runTerminating(ctx context.Context, e *env, o terminatingOptions) error {
	ctx, interrupted := e.untilInterrupt(ctx)
	client, stop, err := connect(ctx, e, o.globals)
	if err == nil {
		defer stop()
		err = showTerminating(ctx, e, o, client)
	}
	switch {
	case interrupted() && o.watch && client != nil:
		return nil // that is how it is ended
	case ctx.Err() != nil && err != nil:
		return errInterrupted
	}
	return err
}

func showTerminating(ctx context.Context, e *env, o terminatingOptions, client *cri.Client) error {
	p, err := o.globals.paths(client.Endpoint())
	if err != nil {
		return err
	}
	c := collector{client: client, pods: p.Pods(), proc: "/proc", now: e.now, runtimePID: serverPID(client.Endpoint())}
	look := func() (output.List, error) {
		all, err := newReader(e, p.Locks).Pods(ctx, client)
		if err != nil {
			return output.List{}, err
		}
		var shown []*inventory.Pod
		for _, h := range all {
			if o.Selects(h) {
				shown = append(shown, h)
			}
		}
		return downListing(c.down(ctx, shown), e.now()), nil
	}
	if o.watch {
		return watchListing(ctx, e, o.printer, look)
	}
	l, err := look()
	if err != nil {
		return err
	}
	if len(l.Items) == 0 && o.printer.IsTable() {
		fmt.Fprintln(e.errw, "no pod is on its way down")
	}
	return o.printer.Print(e.out, l)
}

// watchPeriod is how often a list that is watched is made anew.
const watchPeriod = time.Second

// watchListing prints a list whenever it is another one, until ctx ends: on a
// terminal over the last one, as JSON an object a line for each thing that has
// changed.
func watchListing(ctx context.Context, e *env, printer output.Format, look func() (output.List, error)) error {
	ticks := time.NewTicker(watchPeriod)
	defer ticks.Stop()
	shown := map[string]string{}
	last := ""
	for {
		l, err := look()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		switch printer.Name() {
		case "json":
			now := map[string]string{}
			for _, i := range l.Items {
				b, err := json.Marshal(i.Data)
				if err != nil {
					return err
				}
				now[i.Name] = string(b)
				if shown[i.Name] != now[i.Name] {
					fmt.Fprintln(e.out, string(b))
				}
			}
			shown = now
		default:
			var text bytes.Buffer
			if err := printer.Print(&text, l); err != nil {
				return err
			}
			if text.String() != last {
				last = text.String()
				printAgain(e, last)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// printAgain prints a screen: over the last one on a terminal, else below it
// after an empty line.
func printAgain(e *env, text string) {
	if e.tty {
		fmt.Fprint(e.out, "\x1b[H\x1b[2J")
	}
	at := e.now().Format(time.TimeOnly)
	if text == "" {
		at += "  no pod is on its way down"
	}
	fmt.Fprintf(e.out, "%s\n%s", at, text)
	if !e.tty {
		fmt.Fprintln(e.out)
	}
}

// downPodData is one pod of `podctl terminating -o json`.
type downPodData struct {
	Metadata struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		UID       string `json:"uid"`
	} `json:"metadata"`
	Owner            string              `json:"owner"` // as in podctl pods
	Since            time.Time           `json:"since,omitzero"`
	GraceLeftSeconds *int64              `json:"graceLeftSeconds,omitempty"` // negative once it is overrun
	Running          []downContainerData `json:"running"`
	Layer            layer               `json:"layer"`         // process, shim, runtime, network, volume, worker; - if nothing is stuck
	Why              string              `json:"why,omitempty"` // that layer
	LastError        string              `json:"lastError,omitempty"`
	Next             []string            `json:"next,omitempty"` // commands to type
}

// downContainerData is a container that still runs.
type downContainerData struct {
	Name  string `json:"name"`
	ID    string `json:"id"`
	PID   int    `json:"pid,omitempty"`
	State string `json:"state,omitempty"` // the kernel's letter; gone if there is no such process
	WChan string `json:"wchan,omitempty"` // where in the kernel it sleeps
}

func downListing(pods []*downPod, now time.Time) output.List {
	l := output.List{Header: []string{"POD", "SINCE", "GRACE", "RUNNING", "LAYER", "LAST ERROR"}, Wide: []string{"OWNER", "WHY"}}
	for _, p := range pods {
		d := p.data(now)
		since, grace := "-", "-"
		if !d.Since.IsZero() {
			since = output.Age(now.Sub(d.Since))
		}
		if d.GraceLeftSeconds != nil {
			grace = fmt.Sprintf("%ds", *d.GraceLeftSeconds)
		}
		var running []string
		for _, c := range d.Running {
			running = append(running, c.text())
		}
		item := output.Item{
			Name: p.DisplayName(), Data: d,
			Cells: []string{p.DisplayName(), since, grace, cmp.Or(strings.Join(running, ", "), "-"), string(d.Layer), cmp.Or(output.OneLine(d.LastError), "-")},
			Wide:  []string{ownerText(p.Pod), cmp.Or(d.Why, "-")},
		}
		if d.Why != "" {
			item.Notes = append(item.Notes, "  "+d.Why)
		}
		if len(d.Next) > 0 {
			item.Notes = append(item.Notes, "  hint: "+strings.Join(d.Next, " · "))
		}
		l.Items = append(l.Items, item)
	}
	return l
}

// text is "db (pid 8812, D nfs_wait)".
func (c downContainerData) text() string {
	if c.PID == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s (pid %d, %s)", c.Name, c.PID, strings.TrimSpace(c.State+" "+c.WChan))
}

func (p *downPod) data(now time.Time) downPodData {
	f := p.facts
	found := diagnose(f, now)
	d := downPodData{
		Owner: ownerText(p.Pod), Since: f.since, Running: []downContainerData{},
		Layer: found.layer, Why: found.why, Next: found.next, LastError: p.Worker.LastError.Text,
	}
	d.Metadata.Namespace, d.Metadata.Name, d.Metadata.UID = p.Namespace, p.Name, string(p.UID)
	if f.graceLeft != nil {
		left := int64(f.graceLeft.Round(time.Second) / time.Second)
		d.GraceLeftSeconds = &left
	}
	for _, c := range f.containers {
		data := downContainerData{Name: c.name, ID: c.id, PID: c.process.pid}
		switch {
		case c.process.pid == 0:
		case c.process.state == 0:
			data.State = "gone"
		default:
			data.State, data.WChan = string(c.process.state), ""
			if c.process.state == 'D' {
				data.WChan = c.process.wchan
			}
		}
		d.Running = append(d.Running, data)
	}
	return d
}
