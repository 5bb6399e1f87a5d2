package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/stop"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/services"
	"github.com/podctl/podctl/internal/sys/hint"
)

// orphansOptions are the options of `podctl orphans`.
type orphansOptions struct {
	shell.Globals
	view.Filter
	sources sources.Sources
	printer output.Format
	// desired are manifests, staticPods is a kubelet's static pod directory.
	desired    []string
	staticPods string
	// kubeletIsGone: pods that a kubelet created have no owner now.
	kubeletIsGone bool
	// ownerIsGone: podctl processes that are not seen do not exist.
	ownerIsGone bool
	exitCode    bool
	kill        bool
	// With --kill: remove containers, sandboxes and directories; make no call; the
	// grace period of each container.
	remove, dryRun bool
	grace          time.Duration
}

func orphansCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "orphans",
		Usage:       "list orphaned pods; with --kill, terminate them",
		Args:        cmdline.Args{Of: cmdline.Pod, Many: true, Optional: true, Patterns: true},
		Effect:      cmdline.ChangesIf(func(c *cli.Context) bool { return c.Bool("kill") && !c.Bool("dry-run") }, "--dry-run"),
		OnRecording: true,
		OnNodes:     cmdline.NodeList,
		Data:        []any{OrphanData{}, orphanMetadata{}, leakedThing{}},
		Description: "A pod is orphaned if the runtime holds it and no source desires it: live podctl processes,\n" +
			"manifests (--desired), the kubelet (--kubelet; one that uses this runtime is found, and asked at\n" +
			"the ports of its configuration), its static pods, and the cluster (--kubeconfig). Pod\n" +
			"directories below --root without a pod are listed, too, and what has leaked: processes, mounts,\n" +
			"namespaces, addresses and cgroups of sandboxes that the runtime does not list.\n" +
			"CLASS is name-reserved, no-sandbox, not-ready, abandoned, runtime-only, directory or leaked.\n" +
			fmt.Sprintf("--kill terminates them, %d at a time: StopContainer with the grace period, then without,\n", stop.AtOnce) +
			"then StopPodSandbox. Before each one all sources are asked again, and a pod that is desired by\n" +
			"then is spared. Pods that a kubelet created are orphaned only if it answered completely and\n" +
			"desires them no more; one that it is terminating is left to it. --kill refuses if that is not\n" +
			"known: the kubelet is stopped, starting, does not answer, or podctl cannot see it.\n" +
			"Ctrl-C stops it at once; the runtime may go on terminating the pods that were begun.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(append(append(podFilterFlags(), shell.FormatFlags()...),
			&cli.BoolFlag{Name: "exit-code", Usage: "exit 1 if there are orphans"},
			&cli.BoolFlag{Name: "kill", Usage: "terminate them"},
			&cli.BoolFlag{Name: "rm", Usage: "with --kill, remove containers, sandboxes and directories, too"},
			orphanGracePeriod(),
			&cli.BoolFlag{Name: "dry-run", Usage: "with --kill, print the calls only"},
			shell.OwnerIsGoneFlag(),
			&cli.BoolFlag{Name: "kubelet-is-gone", Usage: "treat pods that a kubelet created as orphaned although no kubelet uses the runtime"},
			&cli.StringSliceFlag{Name: "desired", Usage: "`FILE|DIR|URL` of desired pods"},
			&cli.StringFlag{Name: "static-pods", DefaultText: "that of the kubelet that uses this runtime", Usage: "`DIR` of the kubelet's static pods"},
		), shell.DesiredFlags()...),
		Action: func(c *cli.Context) error {
			o, err := readOrphans(c)
			if err != nil {
				return err
			}
			for _, source := range []string{"desired", "static-pods", "kubelet", "kubeconfig", "kubelet-is-gone", "owner-is-gone"} {
				if e.Recording != nil && c.IsSet(source) {
					return shell.Usagef("--%s is about this host, and cannot be combined with a recording", source)
				}
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runOrphans(ctx, e, o) })
		},
	}
}

func readOrphans(c *cli.Context) (o orphansOptions, err error) {
	o = orphansOptions{
		Globals: shell.ReadGlobals(c), desired: c.StringSlice("desired"), staticPods: c.String("static-pods"), kubeletIsGone: c.Bool("kubelet-is-gone"), ownerIsGone: c.Bool("owner-is-gone"), exitCode: c.Bool("exit-code"),
		kill: c.Bool("kill"), remove: c.Bool("rm"), dryRun: c.Bool("dry-run"), grace: time.Duration(c.Int64("grace-period")) * time.Second,
	}
	if o.Filter, err = readPodFilter(c); err != nil {
		return o, err
	}
	if o.sources, err = shell.ReadDesired(c); err != nil {
		return o, err
	}
	list, err := shell.ReadList(c)
	if err != nil {
		return o, err
	}
	o.printer = list.Format
	for _, name := range []string{"rm", "grace-period", "dry-run"} {
		if c.IsSet(name) && !o.kill {
			return o, &shell.UsageError{Message: "--" + name + " goes with --kill", Advice: "podctl orphans --kill --dry-run prints what --kill would do"}
		}
	}
	switch {
	case o.grace < 0:
		return o, shell.Usagef("--grace-period %d is negative", c.Int64("grace-period"))
	case o.kill && o.exitCode:
		return o, shell.Usagef("--exit-code is for the list; --kill fails if a pod cannot be terminated")
	}
	return o, nil
}

// errOrphans: there are some, and they are printed.
var errOrphans = shell.Printed(errors.New("there are orphans"))

func runOrphans(ctx context.Context, e *shell.Env, o orphansOptions) error {
	client, stop, err := shell.Connect(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer stop()
	f, err := newOrphanFinder(ctx, e, o, client)
	if err != nil {
		return err
	}
	v, err := f.Look(ctx)
	if err != nil {
		return err
	}
	if err := f.FindLeaks(ctx, v); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		v.Leaks.Unread = []string{err.Error()}
	}
	found := o.selected(v, orphan.Classify(v.Facts))
	if o.kill {
		return killOrphans(ctx, e, o, f, v, found)
	}
	if err := errors.Join(v.Missing(), o.missing(v, found.Orphans)); err != nil {
		return err
	}
	if err := printOrphans(e, o, v, found); err != nil {
		return err
	}
	if err := removeServices(ctx, e, o, f, true); err != nil {
		return err
	}
	if o.exitCode && len(found.Orphans) > 0 {
		return errOrphans
	}
	return nil
}

func newOrphanFinder(ctx context.Context, e *shell.Env, o orphansOptions, client *cri.Client) (*orphan.Finder, error) {
	p, err := o.Paths(client.Endpoint())
	if err != nil {
		return nil, err
	}
	cluster, err := o.sources.Cluster()
	if err != nil {
		return nil, err
	}
	f := &orphan.Finder{
		Asker: owners.Asker{
			Locks: p.Locks, Dial: e.Dial, Procs: e.Procs, Sources: o.sources, Cluster: cluster, Files: o.desired, StaticPods: o.staticPods,
			KubeletIsGone: o.kubeletIsGone, OwnerIsGone: o.ownerIsGone,
		},
		Client: client, Logs: p.Logs, Root: p.Root,
		// The directories below the root are not of a runtime that ends with its process.
		SkipDirs: client.Endpoint().Runtime == cri.SimEndpoint && !e.SimOutlives || e.Recording != nil,
	}
	f.Answered = e.RecordedOwners()
	if e.Recording == nil && !client.IsSimulated() {
		f.Leaks = o.LeakFinder(ctx, e, client)
	}
	return f, nil
}

// selected are the findings that the filter selects.
func (o *orphansOptions) selected(v *orphan.View, all orphan.Findings) orphan.Findings {
	o.Filter = o.Resolve(slices.Concat(v.Pods, podsOf(all.Orphans)))
	omit := func(p *view.Pod) bool { return !o.Selects(p) }
	return orphan.Findings{
		Orphans:     slices.DeleteFunc(all.Orphans, func(f orphan.Orphan) bool { return omit(f.Pod) }),
		Terminating: slices.DeleteFunc(all.Terminating, omit), Undetermined: slices.DeleteFunc(all.Undetermined, omit),
	}
}

// podsOf returns the pods of orphans; of a directory, what it says about its pod.
func podsOf(found []orphan.Orphan) []*view.Pod {
	var pods []*view.Pod
	for _, f := range found {
		pods = append(pods, f.Pod)
	}
	return pods
}

// missing is an error for each name that neither an orphan nor another pod has.
func (o orphansOptions) missing(v *orphan.View, found []orphan.Orphan) error {
	return missing(o.Unmatched(slices.Concat(v.Pods, podsOf(found))), v.Pods, false)
}

// killOrphans terminates the orphans, after another look before each. One that
// cannot be terminated does not keep it from the others.
func killOrphans(ctx context.Context, e *shell.Env, o orphansOptions, f *orphan.Finder, v *orphan.View, all orphan.Findings) (err error) {
	if err := v.Refusal(); err != nil {
		return err
	}
	if err := orphan.Undetermined(all.Undetermined); err != nil {
		return err
	}
	found := all.Orphans
	if none := o.Unmatched(podsOf(found)); len(none) > 0 {
		return hint.Errorf("podctl orphans lists them; podctl stop stops a pod that is desired", "orphan %q not found", none[0])
	}
	if !o.printer.IsTable() {
		warnUnread(e, v, all)
	} else if err := printOrphans(e, o, v, all); err != nil {
		return err
	}
	f.Self = shell.InstanceName(owners.OrphansPrefix)
	names := &stop.Names{Dir: f.Locks, Instance: f.Self, Procs: e.Procs, Log: e.Log}
	defer func() { err = errors.Join(err, names.Close()) }()
	k := &orphan.Killer{
		KillOptions: orphan.KillOptions{Grace: o.grace, Remove: o.remove, DryRun: o.dryRun}, Finder: f,
		Terminator: stop.Terminator{Client: f.Client, Names: names},
	}
	// Also without --remove: the last leaked cgroup leaves empty parents.
	leftovers, closeLeftovers, err := openLeftovers(ctx, e, o.Globals, f.Client, o.dryRun)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLeftovers()) }()
	if o.remove {
		k.Leftovers = leftovers
	}
	errs, done := make([]error, len(found)), make([]OrphanData, len(found))
	steps := shell.StartSteps(e, "orphans")
	steps.Printed = o.printer.IsTable()
	lines := output.NewOrdered(steps.Out(), len(found))
	var killing errgroup.Group
	killing.SetLimit(stop.AtOnce)
	for i, orphan := range found {
		killing.Go(func() error {
			defer lines.Done(i)
			end := steps.Begin(output.OneLine(orphan.Title()))
			if done[i], errs[i] = killOrphan(ctx, lines.Writer(i), o, k, orphan); ctx.Err() == nil {
				end()
			}
			return nil
		})
	}
	_ = killing.Wait() // returns no error
	steps.Stop()
	errs = append(errs, removeServices(ctx, e, o, f, o.dryRun))
	return errors.Join(append(errs, printKilled(e, o, found, done))...)
}

// removeServices removes the rules and the address of Services that a killed podctl has left, or with
// dryRun says that they are there.
func removeServices(ctx context.Context, e *shell.Env, o orphansOptions, f *orphan.Finder, dryRun bool) error {
	if f.Leaks == nil || os.Geteuid() != 0 || len(o.Names) > 0 {
		return nil
	}
	found, err := services.Remove(ctx, services.PartsDir(filepath.Dir(f.Locks)), dryRun)
	switch {
	case err != nil:
		return fmt.Errorf("remove what serves Services: %w", err)
	case found && dryRun:
		fmt.Fprintf(e.Errw, "note: no podctl serves Services, and their rules are left: podctl orphans --kill removes the nftables table %s and the address %s\n", services.TableName, services.DNSAddress)
	case found:
		fmt.Fprintf(e.Errw, "note: removed the nftables table %s and the address %s of Services that no podctl serves\n", services.TableName, services.DNSAddress)
	}
	return nil
}

// killOrphan terminates one orphan, and prints each call and the result. Of one that was not
// begun before ctx ended, the result is empty.
func killOrphan(ctx context.Context, out io.Writer, o orphansOptions, k *orphan.Killer, found orphan.Orphan) (OrphanData, error) {
	d := newOrphanData(found)
	if ctx.Err() != nil {
		return d, nil
	}
	say := func(text string) {
		if o.printer.IsTable() {
			fmt.Fprintln(out, output.OneLine(found.Title()+text))
		}
	}
	result, reason, err := k.Kill(ctx, found, func(call string, failure error) {
		if failure != nil {
			call += " failed: " + output.OneLine(failure.Error())
		}
		d.Steps = append(d.Steps, call)
		say(": " + call)
	})
	d.Result, d.Reason = string(result), reason
	if err != nil {
		d.Reason = err.Error()
		err = fmt.Errorf("terminate orphan %s: %w", found.Title(), err)
	}
	switch {
	case result == orphan.Failed, result == orphan.DryRun:
	case d.Reason != "":
		say(" " + d.Result + ": " + d.Reason)
	default:
		say(" " + d.Result)
	}
	return d, err
}

// orphanGracePeriod is the flag --grace-period, by default a second: nobody waits for an
// orphan.
func orphanGracePeriod() cli.Flag {
	flag := shell.GracePeriodFlag()
	flag.Value, flag.DefaultText = 1, "1"
	return flag
}
