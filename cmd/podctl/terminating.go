package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/diagnose"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/proc"
)

// terminatingOptions are the options of `podctl terminating`.
type terminatingOptions struct {
	globals
	inventory.Filter
	printer output.Format
	watch   bool
}

func terminatingCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "terminating",
		Usage:     "list terminating pods: what still runs, which layer is stuck, and the next command to try",
		ArgsUsage: "[NAMESPACE/]NAME …",
		Description: "A pod is listed if the podctl process that owns it terminates it. Other pods are listed on\n" +
			"evidence: their podctl process exited while it terminated them; the sandbox has stopped and\n" +
			"containers still run; a process has exited, or has a signal pending, although the runtime\n" +
			"reports it as running; their shim is stopped.\n" +
			"GRACE is the rest of the grace period, negative once it is exceeded. LAYER is what the pod\n" +
			"waits for: hook (preStop), process, cgroup (frozen), shim, runtime, network, volume or worker;\n" +
			"- while nothing is stuck. A process that podctl cannot see is shown as hidden.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(podFilterFlags(),
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "watch, and print changes; with -o json one object per line"},
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
	watching := false
	err := e.untilInterrupted(ctx, func(ctx context.Context) error {
		endpoint, dir, err := findSockets(ctx, o.globals)
		if err != nil {
			return err
		}
		o.runtime, o.image = endpoint.Runtime, endpoint.Image
		t := terminatingLister{env: e, opts: o, reader: newReader(e, dir), warn: new(sync.Once)}
		paths, err := o.globals.paths(endpoint)
		if err != nil {
			return err
		}
		t.collector = diagnose.Collector{
			PodDirs: paths.Pods(), Proc: proc.Default, Cgroups: "/sys/fs/cgroup", Now: e.now, Server: cri.ServerOf(endpoint),
		}
		client, stop, err := connect(ctx, e, o.globals)
		if err != nil {
			return t.printReported(ctx, err)
		}
		defer stop()
		t.client, t.collector.Runtime, watching = client, client, o.watch
		if o.watch {
			return watchListing(ctx, e, o.printer, t.list)
		}
		return t.print(ctx)
	})
	if watching && errors.Is(err, errInterrupted) {
		return nil // an interrupt is how a watch ends
	}
	return err
}

// terminating is a pod that is being terminated, with the facts about it.
type terminating struct {
	*inventory.Pod
	owner string
	facts *diagnose.Facts
}

// terminatingLister lists terminating pods.
type terminatingLister struct {
	env       *env
	opts      terminatingOptions
	client    *cri.Client
	reader    inventory.Reader
	collector diagnose.Collector
	warn      *sync.Once // about the kubelet
}

func (t terminatingLister) list(ctx context.Context) (output.List, error) {
	all, err := t.reader.Pods(ctx, t.client)
	if err != nil {
		return output.List{}, err
	}
	t.collector.Kubelet, err = diagnose.AskKubelet(ctx, t.client.Endpoint().Runtime, proc.Default)
	if err != nil && slices.ContainsFunc(all, func(p *inventory.Pod) bool { return p.Kind() == inventory.KindKubelet }) {
		t.warn.Do(func() {
			fmt.Fprintf(t.env.errw, "warning: pods of a kubelet are listed on evidence of their processes only: %v\n", err)
		})
	}
	return t.examine(ctx, all), nil
}

// examine returns the terminating ones of the pods that the user selects.
func (t terminatingLister) examine(ctx context.Context, all []*inventory.Pod) output.List {
	shown := append(all, t.collector.Unlisted(all)...)
	shown = slices.DeleteFunc(shown, func(p *inventory.Pod) bool { return !t.opts.Selects(p) })
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
	return terminatingList(found, t.env.now())
}

func (t terminatingLister) print(ctx context.Context) error {
	l, err := t.list(ctx)
	if err != nil {
		return t.printReported(ctx, err)
	}
	if len(l.Items) == 0 && t.opts.printer.IsTable() {
		fmt.Fprintln(t.env.errw, "no terminating pods")
	}
	return t.opts.printer.Print(t.env.out, l)
}

// printReported prints what live podctl processes report while the runtime does
// not answer, and returns the runtime's error.
func (t terminatingLister) printReported(ctx context.Context, err error) error {
	answers, asked := t.reader.Ask(ctx)
	if asked != nil || ctx.Err() != nil {
		return err
	}
	if pods := reported(t.env, t.reader, answers, err); len(pods) > 0 {
		return errors.Join(t.opts.printer.Print(t.env.out, t.examine(ctx, pods)), err)
	}
	return err
}

// watchPeriod is the poll interval of a list with --watch.
const watchPeriod = time.Second

// watchListing prints a list each time it changes, until ctx ends: on a terminal
// in place of the last one, as JSON one object per line for each item that
// changed.
func watchListing(ctx context.Context, e *env, printer output.Format, list func(context.Context) (output.List, error)) error {
	ticks := time.NewTicker(watchPeriod)
	defer ticks.Stop()
	shown := map[string]string{}
	last := ""
	for {
		l, err := list(ctx)
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

// printAgain prints a screen: on a terminal in place of the last one, else
// below it after an empty line.
func printAgain(e *env, text string) {
	if e.tty {
		fmt.Fprint(e.out, "\x1b[H\x1b[2J")
	}
	at := e.now().Format(time.TimeOnly)
	if text == "" {
		at += "  no terminating pods"
	}
	fmt.Fprintf(e.out, "%s\n%s", at, text)
	if !e.tty {
		fmt.Fprintln(e.out)
	}
}
