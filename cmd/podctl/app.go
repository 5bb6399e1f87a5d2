package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/images"
	"github.com/podctl/podctl/cmd/podctl/internal/lab"
	"github.com/podctl/podctl/cmd/podctl/internal/look"
	"github.com/podctl/podctl/cmd/podctl/internal/node"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/plugin"
	"github.com/podctl/podctl/cmd/podctl/internal/pods"
	"github.com/podctl/podctl/cmd/podctl/internal/program"
	"github.com/podctl/podctl/cmd/podctl/internal/run"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/sys/hostroot"
)

const about = `podctl runs Kubernetes pods on a CRI runtime (containerd, CRI-O) without a
control plane, as the kubelet would, and looks inside the pods of any owner;
differences from the kubelet are documented.

   podctl run pod.yaml           run pods in the foreground until they end
   podctl agent --manifests DIR  run the pods of a directory as a service
   podctl validate pod.yaml      validate manifests as the API server would, with file:line
   podctl render pod.yaml        print the CRI configs of a manifest
   podctl pods                   list the pods of the runtime and their owners
   podctl describe POD           say why a pod does not run, and what to type next
   podctl logs|exec|debug POD    read, enter and examine a pod
   podctl doctor                 examine the runtime and this host`

// runProgram is the whole program without its process.
func runProgram(args []string, e *shell.Env) int {
	// Everything printed passes a writer that escapes control characters; what
	// is to reach the terminal or a file unchanged takes output.Raw.
	e.Out, e.Errw = output.NewWriter(e.Out), output.NewWriter(e.Errw)
	err := runAs(e, args)
	shell.PrintError(e.Errw, err)
	return shell.ExitCode(err)
}

// runCaptured returns what runs command lines of this program for another command, with
// streams of their own. They change nothing.
func runCaptured(e *shell.Env) node.Run {
	return func(ctx context.Context, out, errw io.Writer, args ...string) int {
		inner := *e
		inner.In, inner.Out, inner.Errw = strings.NewReader(""), out, errw
		inner.TTY, inner.NoColor, inner.ReadOnly = false, true, true
		inner.Level = &slog.LevelVar{}
		inner.Level.Set(slog.LevelError)
		inner.Log = slog.New(slog.NewTextHandler(errw, &slog.HandlerOptions{Level: inner.Level}))
		interrupts := make(chan os.Signal, 1)
		inner.Interrupts = interrupts
		stop := context.AfterFunc(ctx, func() { interrupts <- os.Interrupt })
		defer stop()
		return runProgram(append([]string{"podctl"}, args...), &inner)
	}
}

// runAs runs what the program's name stands for: podctl, or a plugin of kubectl.
func runAs(e *shell.Env, args []string) error {
	switch programName(args) {
	case pluginName, pluginAlias:
		return runPlugin(e, args)
	case pluginCompletion:
		app, p := newPluginApp(e)
		return program.CompletePlugin(e, app, p.NodeCandidates, args[1:])
	}
	return runApp(newApp(e), args)
}

func runApp(app *cmdline.App, args []string) error {
	ordered, err := order(app, args)
	if err != nil {
		return err
	}
	return app.Run(ordered)
}

// order returns the command line as urfave/cli reads it.
func order(app *cmdline.App, args []string) ([]string, error) {
	ordered, err := cmdline.Reorder(app, args)
	if missing, ok := errors.AsType[*cmdline.MissingValueError](err); ok {
		return nil, &shell.UsageError{Message: missing.Error(), Advice: "podctl COMMAND --help"}
	}
	return ordered, err
}

// commands are all commands, in the order of the help: a package for each section. app
// returns the app that they become part of.
func commands(e *shell.Env, app func() *cmdline.App) []*cmdline.Command {
	var all []*cmdline.Command
	for _, section := range []struct {
		name     string
		commands []*cmdline.Command
	}{
		{"run pods", run.Commands(e)},
		{"list and stop pods", pods.Commands(e)},
		{"look inside pods", look.Commands(e)},
		{"images", images.Commands(e)},
		{"examine the node", node.Commands(e, runCaptured(e))},
		{"examine the runtime", lab.Commands(e)},
		{"this program", program.Commands(e, app)},
	} {
		for _, c := range section.commands {
			c.Section = section.name
		}
		all = append(all, section.commands...)
	}
	return all
}

func newApp(e *shell.Env) *cmdline.App {
	var app *cmdline.App
	commands := commands(e, func() *cmdline.App { return app })
	cmdline.Walk(commands, func(name string, c *cmdline.Command) { complete(e, c, name) })
	app = &cmdline.App{Commands: commands, App: &cli.App{
		Name:         "podctl",
		Usage:        "run Kubernetes pods on a CRI runtime without a control plane",
		Description:  about,
		Version:      shell.Version(),
		Flags:        shell.GlobalFlags(),
		Writer:       e.Out,
		OnUsageError: shell.OnUsageError("", nil),
		Action: func(c *cli.Context) error {
			switch {
			case c.Args().First() == "help" && c.NArg() > 1:
				return program.Help(e, app, c.Args().Slice()[1:])
			case c.NArg() > 0 && c.Args().First() != "help":
				return shell.UnknownCommand("podctl", commands, c.Args().First())
			}
			return app.PrintHelp(e.Out, "podctl")
		},
	}}
	app.Help = program.HelpPages(app)
	return app
}

// complete gives a command what all commands share. name is the command's full name.
func complete(e *shell.Env, c *cmdline.Command, name string) {
	c.Share(shell.CommandGlobals())
	c.OnUsageError = shell.OnUsageError(name, c)
	if c.Action == nil {
		c.Effect, c.Action = cmdline.Reads, group(c, "podctl "+name)
	}
	c.Action = checked(e, name, c)
}

// group is the action of a command that only has subcommands.
func group(c *cmdline.Command, name string) cli.ActionFunc {
	return func(*cli.Context) error {
		var lines []string
		for _, sub := range c.Subcommands {
			lines = append(lines, name+" "+sub.Name+": "+sub.Usage)
		}
		return &shell.UsageError{Message: "no command given", Advice: strings.Join(lines, "\n")}
	}
}

// checked returns the action of a command with what all commands share: -v takes effect, a
// read-only podctl changes nothing, paths are the host's, and errors carry the command's
// name.
func checked(e *shell.Env, name string, command *cmdline.Command) cli.ActionFunc {
	action := command.Action
	return func(c *cli.Context) error {
		switch {
		case shell.Nearest(c, "debug", (*cli.Context).Bool):
			e.Level.Set(slog.LevelDebug)
		case shell.Nearest(c, "verbose", (*cli.Context).Bool):
			e.Level.Set(slog.LevelInfo)
		}
		if timeout := shell.Nearest(c, "timeout", (*cli.Context).Duration); timeout < 0 {
			return shell.Usagef("--timeout %s is negative", timeout)
		}
		closeRecording := func() {}
		err := enter(e, c, name, command)
		if err == nil {
			closeRecording, err = shell.OpenRecording(e, c, command)
		}
		if err == nil {
			defer closeRecording()
			c, err = shell.Locate(e, c, command)
		}
		if err == nil {
			err = action(c)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}

// enter is what has to be true before any command does something.
func enter(e *shell.Env, c *cli.Context, name string, command *cmdline.Command) error {
	if err := shell.Refuse(e, c, command.Effect); err != nil {
		return err
	}
	if given := c.Args().First(); given != "" && len(command.Subcommands) > 0 {
		return shell.UnknownCommand("podctl "+name, command.Subcommands, given)
	}
	if wrong, ok := errors.AsType[*cmdline.ArgsError](command.CheckArgs(c.Args().Slice())); ok {
		return &shell.UsageError{Message: wrong.Message, Advice: wrong.Advice}
	}
	return hostroot.Enter(shell.HostRoot(c))
}

// The names under which podctl is a plugin of kubectl: of `kubectl podctl`, the name that
// kubectl looks for if a plugin's has a dash, and what kubectl runs to complete its words.
const (
	pluginName       = "kubectl-podctl"
	pluginAlias      = "kubectl_podctl"
	pluginCompletion = "kubectl_complete-podctl"
)

// programName is the name by which the program was started.
func programName(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

// newPluginApp is podctl whose commands run on nodes of a cluster.
func newPluginApp(e *shell.Env) (*cmdline.App, *plugin.Plugin) {
	app, p := newApp(e), &plugin.Plugin{Env: e}
	p.Install(app)
	app.Help.Program = plugin.Program
	app.Help.Globals = func() []cli.Flag { return append(shell.GlobalFlags(), plugin.Flags()...) }
	return app, p
}

func runPlugin(e *shell.Env, args []string) error {
	app, p := newPluginApp(e)
	ordered, err := order(app, args)
	if err != nil {
		return err
	}
	return p.Run(app, ordered)
}
