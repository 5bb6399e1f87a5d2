package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/kubelet"
)

// orphansOptions are what `podctl orphans` was asked for.
type orphansOptions struct {
	globals
	podFilter
	desiredOptions
	printer output.Format
	// desired are manifests, staticPods is a kubelet's static pod directory.
	desired    []string
	staticPods string
	exitCode   bool
	kill       bool
	// Of --kill: remove what is left, make no call, and how long a container has.
	remove, dryRun bool
	grace          time.Duration
}

// orphansInstance is what the names of those begin with that end orphans.
const orphansInstance = "orphans"

func orphansCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "orphans",
		Usage:     "list the pods that nobody wants, and end them with --kill",
		ArgsUsage: "[NAMESPACE/]NAME …",
		Description: "What the runtime holds beside what is desired: by living podctls, by manifests (--desired), by\n" +
			"the kubelet (--kubelet; one that uses this runtime is asked at its read-only port, too), its static\n" +
			"pods, and the cluster (--kubeconfig). Pod directories below --root without a pod count, too.\n" +
			"CLASS is name-reserved, no-sandbox, not-ready, abandoned, runtime-only or directory.\n" +
			"--kill ends them one after the other: StopContainer with the grace, then without, then\n" +
			"StopPodSandbox. Before each one everybody is asked again, and who is wanted by then is spared.\n" +
			"It refuses where a kubelet uses the runtime and does not say what it wants. Ctrl-C ends it after\n" +
			"the pod that it is at.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(append(podFilterFlags(),
			&cli.BoolFlag{Name: "exit-code", Usage: "exit 1 if there are any"},
			&cli.BoolFlag{Name: "kill", Usage: "end them"},
			&cli.BoolFlag{Name: "rm", Usage: "and remove what is left: containers, sandboxes, directories"},
			&cli.Int64Flag{Name: "grace-period", Value: 1, Usage: "`SECONDS` that a container is given to end"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only print the calls"},
			&cli.StringSliceFlag{Name: "desired", Usage: "`FILE|DIR|URL` of pods that belong here"},
			&cli.StringFlag{Name: "static-pods", DefaultText: "the kubelet's, if one uses this runtime", Usage: "`DIR` of the kubelet's static pods"},
		), desiredFlags()...),
		Action: func(c *cli.Context) error {
			o, err := readOrphans(c)
			if err != nil {
				return err
			}
			return e.untilInterrupted(c.Context, func(ctx context.Context) error { return runOrphans(ctx, e, o) })
		},
	}
}

func readOrphans(c *cli.Context) (o orphansOptions, err error) {
	o = orphansOptions{
		globals: readGlobals(c), desired: c.StringSlice("desired"), staticPods: c.String("static-pods"), exitCode: c.Bool("exit-code"),
		kill: c.Bool("kill"), remove: c.Bool("rm"), dryRun: c.Bool("dry-run"), grace: time.Duration(c.Int64("grace-period")) * time.Second,
	}
	if o.podFilter, err = readPodFilter(c); err != nil {
		return o, err
	}
	if o.desiredOptions, err = readDesired(c); err != nil {
		return o, err
	}
	if o.printer, err = readFormat(o.output); err != nil {
		return o, err
	}
	for _, name := range []string{"rm", "grace-period", "dry-run"} {
		if c.IsSet(name) && !o.kill {
			return o, &usageError{message: "--" + name + " goes with --kill", hint: "podctl orphans --kill --dry-run prints what --kill would do"}
		}
	}
	switch {
	case o.grace < 0:
		return o, usagef("--grace-period %d is negative", c.Int64("grace-period"))
	case o.kill && o.exitCode:
		return o, usagef("--exit-code is about the list; --kill fails where something cannot be ended")
	}
	return o, nil
}

// errOrphans: there are some, and they are on the screen.
var errOrphans = &saidError{errors.New("there are orphans")}

func runOrphans(ctx context.Context, e *env, o orphansOptions) error {
	client, stop, err := connect(ctx, e, o.globals)
	if err != nil {
		return err
	}
	defer stop()
	f, err := newOrphanFinder(e, o, client)
	if err != nil {
		return err
	}
	v, err := f.look(ctx)
	if err != nil {
		return err
	}
	var found []orphan
	for _, orphan := range orphans(v.orphanFacts) {
		if o.shows(orphan) {
			found = append(found, orphan)
		}
	}
	if o.kill {
		return killOrphans(ctx, f, v, found)
	}
	if err := printOrphans(e, o, v, found); err != nil {
		return err
	}
	if o.exitCode && len(found) > 0 {
		return errOrphans
	}
	return nil
}

func newOrphanFinder(e *env, o orphansOptions, client *cri.Client) (*orphanFinder, error) {
	p, err := o.globals.paths(client.Endpoint())
	if err != nil {
		return nil, err
	}
	cluster, err := o.cluster()
	if err != nil {
		return nil, err
	}
	return &orphanFinder{env: e, opts: o, client: client, paths: p, cluster: cluster}, nil
}

// nodeName is the name that static pods have at their end.
func (f *orphanFinder) nodeName(near *kubelet.Near) string {
	name := f.opts.node
	if near != nil {
		name = cmp.Or(name, near.NodeName)
	}
	if name == "" {
		name, _ = os.Hostname() // without one there are no such names
	}
	return name
}

// shows tells whether the filter lets an orphan pass. A directory may be named by
// its pod's UID.
func (o orphansOptions) shows(found orphan) bool {
	filter := o.podFilter
	if slices.Contains(filter.names, string(found.uid)) {
		filter.names = nil
	}
	return filter.shows(found.heldPod)
}

// unmatched are the names that are of no orphan.
func (o orphansOptions) unmatched(found []orphan) []string {
	var none []string
	for _, name := range o.names {
		is := func(f orphan) bool { return name == string(f.uid) || named(f.heldPod, name) }
		if _, err := path.Match(name, ""); err == nil && !slices.ContainsFunc(found, is) {
			none = append(none, name)
		}
	}
	return none
}

// printOrphans prints the list; for people also who was asked, and what to type
// next.
func printOrphans(e *env, o orphansOptions, v *orphanView, found []orphan) error {
	if !o.printer.IsTable() {
		warnUnread(e, v)
		return o.printer.Print(e.out, orphanListing(found, e.now()))
	}
	if len(found) == 0 {
		fmt.Fprintln(e.out, "no orphans")
	}
	if err := o.printer.Print(e.out, orphanListing(found, e.now())); err != nil {
		return err
	}
	fmt.Fprintln(e.out, v.asked())
	for _, line := range v.unread() {
		fmt.Fprintln(e.out, line)
	}
	if len(found) > 0 && !o.kill {
		fmt.Fprintf(e.out, "hint: %s\n", killHint(v, found))
	}
	return nil
}

// warnUnread says who did not answer, where that is not a part of the list.
func warnUnread(e *env, v *orphanView) {
	for _, line := range v.unread() {
		fmt.Fprintf(e.errw, "warning: %s\n", line)
	}
}

// killHint is what to type next.
func killHint(v *orphanView, found []orphan) string {
	if err := v.refusal(); err != nil {
		var hinted interface{ Hint() string }
		if errors.As(err, &hinted) && hinted.Hint() != "" {
			return strings.ReplaceAll(hinted.Hint(), "\n", "\nhint: ")
		}
		return "podctl orphans --kill would refuse: " + output.OneLine(err.Error())
	}
	running := 0
	for _, o := range found {
		if o.running() {
			running++
		}
	}
	switch {
	case running == 0:
		return fmt.Sprintf("podctl orphans --kill --rm removes %s", counted(len(found)))
	case running < len(found):
		return fmt.Sprintf("podctl orphans --kill ends %s, with --rm it removes %s", counted(running), counted(len(found)))
	}
	return "podctl orphans --kill ends " + counted(running)
}

// counted is "this one" or "these 3".
func counted(n int) string {
	if n == 1 {
		return "this one"
	}
	return fmt.Sprintf("these %d", n)
}
