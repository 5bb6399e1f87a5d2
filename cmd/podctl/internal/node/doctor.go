package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/doctor"
)

// doctorOptions are the options of `podctl doctor`.
type doctorOptions struct {
	shell.Globals
	shell.ListOptions
	all bool
}

// doctorCommand returns `podctl doctor`.
func doctorCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "doctor",
		Usage:   "examine the runtime and this host: readiness, network, cgroups, disks, leftovers, known traps",
		Effect:  cmdline.Reads,
		OnNodes: cmdline.NodeList,
		Data:    []any{findingData{}},
		Description: "Prints a line per finding, with the evidence and what to do. Exits with 1 if one is a failure.\n" +
			"Nothing is changed: no container is created, and the event stream of a runtime that gives each\n" +
			"event to one subscriber only is not opened.\n" +
			"-o is " + output.Formats + ".",
		Flags: append(shell.FormatFlags(), &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "only warnings and failures"}),
		Action: func(c *cli.Context) error {
			o := doctorOptions{Globals: shell.ReadGlobals(c), all: !c.Bool("quiet")}
			var err error
			if o.ListOptions, err = shell.ReadList(c); err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runDoctor(ctx, e, o) })
		},
	}
}

func runDoctor(ctx context.Context, e *shell.Env, o doctorOptions) error {
	this := shell.ThisVersion()
	options := doctor.Options{Now: e.Now, CgroupDriver: o.CgroupDriver, Podctl: this.Version + ", " + this.Detail()}
	client, disconnect, err := shell.Connect(ctx, e, o.Globals)
	defer disconnect()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	options.ConnectErr = err
	paths, err := host.DefaultPaths.With(o.Given())
	if err != nil {
		return err
	}
	if client != nil {
		if paths, err = o.Paths(client.Endpoint()); err != nil {
			return err
		}
		options.View = shell.NewReader(e, client.Endpoint(), paths)
		options.View.Runtime = client
		options.Client, options.Leaks = client, o.LeakFinder(ctx, e, client)
		if living, err := control.Find(paths.Locks, e.Dial); err == nil {
			for _, c := range living {
				options.Podctls = append(options.Podctls, c.Instance())
			}
		}
	}
	options.Dirs = []doctor.Disk{{What: "pods", Path: paths.Root}, {What: "logs", Path: paths.Logs}}
	findings := doctor.Examine(doctor.Collect(ctx, options))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := o.Show(ctx, e, "nothing found", func(context.Context) (output.List, error) { return o.listing(findings), nil }); err != nil {
		return err
	}
	if doctor.Worst(findings) == doctor.Failure {
		return shell.Printed(errors.New("a check failed"))
	}
	return nil
}

// findingData is one finding of `podctl doctor -o json`.
type findingData struct {
	Name     string `json:"name"`             // of the check: runtime.network
	Level    string `json:"level"`            // ok, info, warning, failure
	Evidence string `json:"evidence"`         // what was observed
	Remedy   string `json:"remedy,omitempty"` // what to do
}

func (o doctorOptions) listing(findings []doctor.Finding) output.List {
	l := output.List{Header: []string{"LEVEL", "CHECK", "EVIDENCE"}}
	for _, f := range findings {
		if !o.all && f.Level < doctor.Warning {
			continue
		}
		item := output.Item{
			Name: f.Name, Data: findingData{f.Name, f.Level.String(), f.Evidence, f.Remedy},
			Cells: []string{f.Level.String(), f.Name, f.Evidence},
		}
		if f.Remedy != "" {
			item.Notes = []string{fmt.Sprintf("  hint: %s", f.Remedy)}
		}
		l.Items = append(l.Items, item)
	}
	return l
}
