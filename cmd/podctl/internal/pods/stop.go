package pods

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/stop"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/serve/daemon"
)

// stopOptions are the options of `podctl stop` and `podctl rm`.
type stopOptions struct {
	shell.Globals
	stop.Options
	names     []string
	namespace string
	// kubeletIsGone and ownerIsGone: the user says that the kubelet, and the podctl
	// processes that are not seen, do not exist any more.
	kubeletIsGone, ownerIsGone bool
}

// namesHints are what podctl has in place of flags that select several pods.
var namesHints = map[string]string{
	"l": "podctl pods -l LABELS -o name lists the names", "selector": "podctl pods -l LABELS -o name lists the names",
	"a": allNames, "A": allNames, "all": allNames, "all-namespaces": allNames,
}

const allNames = "podctl pods -o name lists the names"

func stopCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:      "stop",
		Usage:     "stop pods and keep them stopped",
		Args:      cmdline.Args{Of: cmdline.Pod, Many: true},
		Effect:    cmdline.Changes,
		Aliases:   []string{"stopp"},
		FlagHints: namesHints,
		Description: "The podctl process that manages a pod terminates it, with its hooks and grace period, and\n" +
			"keeps it stopped until its manifest changes or podctl start. An unmanaged pod is stopped by\n" +
			"runtime calls. Ctrl-C stops waiting; the pods go on terminating.",
		Flags: stopFlags(),
		Action: func(c *cli.Context) error {
			o, err := readStop(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runStop(ctx, e, o) })
		},
	}
}

func rmHints() map[string]string {
	hints := maps.Clone(namesHints)
	hints["f"] = "--force: no grace period"
	return hints
}

func rmCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:      "rm",
		Usage:     "stop pods and remove them",
		Args:      cmdline.Args{Of: cmdline.Pod, Many: true},
		Effect:    cmdline.Changes,
		Aliases:   []string{"delete", "rmp"},
		FlagHints: rmHints(),
		Description: "Stops the pods as podctl stop does, then removes their containers and sandboxes and, of pods\n" +
			"whose podctl process has exited, directories and logs. --force terminates without a grace\n" +
			"period, by runtime calls if the podctl process does not respond.",
		Flags: append(stopFlags(), &cli.BoolFlag{Name: "force", Usage: "no grace period; bypass an unresponsive podctl process"}),
		Action: func(c *cli.Context) error {
			o, err := readStop(c)
			if err != nil {
				return err
			}
			o.Remove, o.Force = true, c.Bool("force")
			if o.Force && o.Grace == nil {
				o.Grace = new(int64)
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runStop(ctx, e, o) })
		},
	}
}

func namespaceFlag() cli.Flag {
	return &cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Value: "default", DefaultText: "default", Usage: "`NAMESPACE` of names without one"}
}

func stopFlags() []cli.Flag {
	return []cli.Flag{
		namespaceFlag(), shell.GracePeriodFlag(),
		&cli.BoolFlag{Name: "beside-kubelet", Usage: "also stop pods of a kubelet, which starts them again"},
		&cli.BoolFlag{Name: "kubelet-is-gone", Usage: "also stop pods that a kubelet created, if none uses the runtime now"},
		shell.OwnerIsGoneFlag(),
	}
}

func readStop(c *cli.Context) (o stopOptions, err error) {
	o = stopOptions{Globals: shell.ReadGlobals(c), names: c.Args().Slice(), namespace: c.String("namespace")}
	if len(o.names) == 0 {
		return o, noNameError(c)
	}
	o.BesideKubelet, o.kubeletIsGone, o.ownerIsGone = c.Bool("beside-kubelet"), c.Bool("kubelet-is-gone"), c.Bool("owner-is-gone")
	o.Grace, err = shell.ReadGracePeriod(c)
	return o, err
}

func noNameError(c *cli.Context) error {
	return &shell.UsageError{Message: "no pod given", Advice: "podctl " + c.Command.Name + " [NAMESPACE/]POD; podctl pods lists them"}
}

// openLeftovers opens what removes the files that podctl's pods leave on the host.
func openLeftovers(ctx context.Context, e *shell.Env, g shell.Globals, client *cri.Client, dryRun bool) (l host.Leftovers, closeAll func() error, err error) {
	p, err := g.Paths(client.Endpoint())
	if err != nil {
		return l, nil, err
	}
	l = host.Leftovers{Volumes: volume.NewNamed(p.Root, p.Dirs().Name), Logs: p.Logs, Runtime: filepath.Base(p.Locks), Cgroups: daemon.NoCgroups{}}
	if dryRun {
		return l, func() error { return nil }, nil
	}
	cgroups, err := daemon.OpenCgroups(ctx, client, daemon.CgroupOptions{Root: g.CgroupRoot, Driver: g.CgroupDriver, RunDir: filepath.Dir(p.Locks), Log: e.Log})
	if err != nil {
		return l, nil, err
	}
	l.Cgroups = cgroups
	return l, cgroups.RemoveEmptyParents, nil
}

// noticeAfter is when a person who waits is told what for.
const noticeAfter = 2 * time.Second

// runStop stops pods, several at a time, and prints what became of each once it is known.
func runStop(ctx context.Context, e *shell.Env, o stopOptions) (err error) {
	r, err := openPodRequest(ctx, e, o.Globals, owners.StopPrefix, func(r *view.Reader) {
		r.KubeletIsGone, r.OwnerIsGone = o.kubeletIsGone, o.ownerIsGone
	})
	if err != nil {
		return err
	}
	defer r.close()
	s := &stop.Stopper{Options: o.Options, Terminator: stop.Terminator{Client: r.client, Names: r.names}, Owners: r.reader.Asker, Dial: e.Dial, Log: e.Log}
	if o.Remove {
		leftovers, closeLeftovers, err := openLeftovers(ctx, e, o.Globals, r.client, false)
		if err != nil {
			return err
		}
		s.Leftovers = leftovers
		defer func() { err = errors.Join(err, closeLeftovers()) }()
	}
	found, unknown := target.Pods(r.pods, target.Query{Namespace: o.namespace, Words: o.names, Literal: true})
	var notice <-chan time.Time
	if e.TTY && len(found) > 0 {
		notice = time.After(noticeAfter)
	}
	stopped := make(chan []error, 1)
	go func() {
		stopped <- eachPod(ctx, e, len(found), func(i int) ([]string, error) {
			outcome, err := s.Stop(ctx, found[i])
			if err != nil {
				return nil, err
			}
			return []string{outcomeText(output.OneLine(found[i].DisplayName()), found[i].CLIName(), outcome)}, nil
		})
	}()
	var errs []error
	select {
	case errs = <-stopped:
	case <-notice:
		fmt.Fprintf(e.Errw, "terminating %s · podctl terminating says what is waited for · Ctrl-C stops waiting\n", output.Plural(len(found), "pod"))
		errs = <-stopped
	}
	return errors.Join(append(errs, unknown)...)
}

func outcomeText(name, word string, o stop.Outcome) string {
	switch {
	case o.Bypassed != nil:
		return fmt.Sprintf("%s removed past %s, which starts it again once it continues", name, o.Bypassed.Title())
	case o.Removed && o.Instance != "":
		return fmt.Sprintf("%s removed; %s still has its manifest, and keeps it stopped: podctl start %s runs it again", name, o.Instance, word)
	case o.Removed:
		return name + " removed"
	case o.Already && o.Instance != "":
		return fmt.Sprintf("%s is already stopped; %s keeps it stopped", name, o.Instance)
	case o.Already:
		return fmt.Sprintf("%s is already stopped; no podctl process manages it: podctl rm %s removes it", name, word)
	case o.Instance != "":
		return fmt.Sprintf("%s stopped by %s", name, o.Instance)
	}
	return fmt.Sprintf("%s stopped; no podctl process manages it: podctl rm %s removes it", name, word)
}
