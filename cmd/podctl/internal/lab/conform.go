package lab

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/conform"
	"github.com/podctl/podctl/internal/lab/conform/inside"
	"github.com/podctl/podctl/internal/serve/daemon"
)

// conformOptions are the options of `podctl conform`.
type conformOptions struct {
	shell.Globals
	format output.Format
	junit  bool
	run    conform.Options
}

// junitFormat is a special format of the command.
const junitFormat = "junit"

func conformCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "conform",
		Usage:   "check how a runtime treats pods, by what is true inside of their containers",
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Data:    []any{conform.Result{}},
		Description: "Runs a pod for each behaviour in the namespace " + conform.Namespace + ", as podctl run does, and compares what\n" +
			"the kubelet would see with what a process sees in the containers: environment, volumes, security\n" +
			"contexts, namespaces, cgroups, lifecycle, logs, streams. The verdict of each is ok, deviates or\n" +
			"unsupported. Exits with 1 if one deviates in a way that the version of the runtime is not known for.\n" +
			"No registry is needed: podctl itself is mounted into the containers, and runs in them; their\n" +
			"image is one that the runtime has.\n" +
			"All pods are removed at the end and on Ctrl-C, and those that a killed podctl conform left, before\n" +
			"it begins. A runtime that a kubelet uses is refused. What critest checks is not repeated.\n\n" +
			"   podctl conform\n" +
			"   podctl conform --focus 'emptydir|subpath' -o wide\n" +
			"   podctl conform -o junit >conform.xml\n\n" +
			"-o is " + output.Formats + ", or junit.",
		Flags: append(shell.FormatFlags(),
			&cli.StringFlag{Name: "focus", DefaultText: "all", Usage: "only behaviours whose name matches this `REGEXP`"},
			&cli.StringFlag{Name: "skip", DefaultText: "none", Usage: "no behaviours whose name matches this `REGEXP`"},
			&cli.StringFlag{Name: "handler", DefaultText: "the default handler", Usage: "runtime handler `NAME` of the pods"},
			&cli.StringFlag{Name: "image", DefaultText: "busybox, alpine or pause, as the runtime has it", Usage: "`IMAGE` of the containers; nothing of it runs"},
			&cli.IntFlag{Name: "parallel", Value: 4, Usage: "`NUMBER` of pods at once"},
		),
		Action: func(c *cli.Context) error {
			o, err := readConform(c)
			if err != nil {
				return err
			}
			return runConform(c.Context, e, o)
		},
	}
}

// errSimulated is returned for a runtime of podctl sim.
var errSimulated = &shell.UsageError{Message: "a simulated runtime runs nothing that could look around", Advice: "-r ENDPOINT of a real one"}

func readConform(c *cli.Context) (conformOptions, error) {
	o := conformOptions{Globals: shell.ReadGlobals(c), run: conform.Options{Image: c.String("image"), Handler: c.String("handler"), Parallel: c.Int("parallel")}}
	if o.run.Parallel < 1 || o.run.Parallel > 50 {
		return o, shell.Usagef("--parallel %d: want 1 to 50", o.run.Parallel)
	}
	if o.Runtime == cri.SimEndpoint {
		return o, errSimulated
	}
	focus, err := readRegexp("focus", c.String("focus"))
	if err != nil {
		return o, err
	}
	skip, err := readRegexp("skip", c.String("skip"))
	if err != nil {
		return o, err
	}
	for _, b := range conform.All() {
		if focus.MatchString(b.Name) && (c.String("skip") == "" || !skip.MatchString(b.Name)) {
			o.run.Behaviours = append(o.run.Behaviours, b)
		}
	}
	if len(o.run.Behaviours) == 0 {
		return o, &shell.UsageError{Message: "no behaviour is selected", Advice: "for example " + conform.All()[0].Name + "; docs/conform.md has all of them"}
	}
	if o.junit = o.Output == junitFormat; o.junit {
		return o, nil
	}
	list, err := shell.ReadList(c)
	o.format = list.Format
	return o, err
}

func readRegexp(flag, text string) (*regexp.Regexp, error) {
	r, err := regexp.Compile(text)
	if err != nil {
		return nil, shell.Usagef("--%s: %v", flag, err)
	}
	return r, nil
}

func runConform(ctx context.Context, e *shell.Env, o conformOptions) error {
	return e.UntilInterrupted(ctx, func(ctx context.Context) error {
		client, disconnect, err := shell.Connect(ctx, e, o.Globals)
		if err != nil {
			return err
		}
		defer disconnect()
		if client.IsSimulated() {
			return errSimulated
		}
		o.format.Width = e.TableWidth(o.NoTrunc)
		steps := shell.StartSteps(e, "conform")
		o.run.Client, o.run.Begin = client, steps.Begin
		o.run.Left = func(pods int) {
			fmt.Fprintf(e.Errw, "removed %s of a podctl conform that was killed\n", output.Plural(pods, "pod"))
		}
		o.run.Node = daemon.Options{
			ConnectOptions: o.ConnectOptions(e), Paths: o.Given(), Instance: shell.InstanceName("conform"), CgroupRoot: o.CgroupRoot,
			Listen: e.Listen, Dial: e.Dial, Procs: e.Procs, Now: e.Now,
		}
		results, err := conform.Run(ctx, o.run)
		if steps.Stop(); err != nil {
			return err
		}
		return printConform(e, o, client.Connected(), results)
	})
}

// outputTime is what the runtime is given to read what was written last: containerd 1.6 loses
// what is in the pipe of a container that exits.
const outputTime = 100 * time.Millisecond

// probeCommand is what runs in the containers of podctl conform.
func probeCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name: inside.Command, Hidden: true,
		Usage:   "run the steps of a conformance test, in its container",
		Args:    cmdline.Args{Of: cmdline.Anything, Many: true, Optional: true},
		Effect:  cmdline.Reads,
		OnNodes: cmdline.NotOnNodes,
		Action: func(c *cli.Context) error {
			code, err := inside.Run(c.Args().Slice(), output.Raw(e.Out), output.Raw(e.Errw))
			time.Sleep(outputTime)
			if err == nil && code != 0 {
				err = &shell.StatusError{Code: code}
			}
			return err
		},
	}
}
