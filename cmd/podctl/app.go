package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/images"
	"github.com/podctl/podctl/cmd/podctl/internal/look"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/pleg"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/cmd/podctl/internal/simulate"
	"github.com/podctl/podctl/internal/hostroot"
	"github.com/podctl/podctl/internal/suggest"
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

// run is the whole program without its process.
func run(args []string, e *shell.Env) int {
	// Everything printed passes a writer that escapes control characters; what
	// is to reach the terminal or a file unchanged takes output.Raw.
	e.Out, e.Errw = output.NewWriter(e.Out), output.NewWriter(e.Errw)
	err := runAs(e, args)
	shell.PrintError(e.Errw, err)
	return shell.ExitCode(err)
}

// runAs runs what the program's name stands for: podctl, or a plugin of kubectl.
func runAs(e *shell.Env, args []string) error {
	switch programName(args) {
	case pluginName, pluginAlias:
		return runPlugin(e, args)
	case pluginCompletion:
		return completePlugin(e, args[1:])
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

// commands are all commands, in the order of the help. app returns the app that they become
// part of.
func commands(e *shell.Env, app func() *cmdline.App) []*cmdline.Command {
	var all []*cmdline.Command
	add := func(section string, commands ...*cmdline.Command) {
		for _, c := range commands {
			c.Section = section
			all = append(all, c)
		}
	}
	add("run pods",
		runCommand(e),
		agentCommand(e),
		validateCommand(e),
		renderCommand(e))
	add("list and stop pods",
		podsCommand(e),
		stopCommand(e),
		startCommand(e),
		rmCommand(e),
		orphansCommand(e),
		terminatingCommand(e))
	add("look inside pods",
		look.Describe(e),
		look.Top(e),
		look.Logs(e),
		look.Events(e),
		look.Exec(e),
		look.Attach(e),
		look.Debug(e, runCopied),
		look.Cp(e),
		look.PortForward(e),
		look.Inspect(e),
		look.Wait(e))
	add("images",
		images.Commands(e)...)
	add("examine the node",
		look.Doctor(e),
		pleg.Command(e),
		preemptCommand(e))
	add("this program",
		versionCommand(e),
		optionsCommand(e),
		completionCommand(e),
		completeCommand(e, app),
		manCommand(app),
		simulate.Command(e))
	return all
}

func newApp(e *shell.Env) *cmdline.App {
	var app *cmdline.App
	commands := commands(e, func() *cmdline.App { return app })
	cmdline.Walk(commands, func(name string, c *cmdline.Command) { complete(e, c, name) })
	app = &cmdline.App{Commands: commands, App: &cli.App{
		Name:                      "podctl",
		Usage:                     "run Kubernetes pods on a CRI runtime without a control plane",
		Description:               about,
		Version:                   shell.Version(),
		Flags:                     shell.GlobalFlags(),
		Reader:                    e.In,
		Writer:                    e.Out,
		ErrWriter:                 e.Errw,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		OnUsageError:              onUsageError("", nil),
		// run maps errors to exit codes and prints them.
		ExitErrHandler: func(*cli.Context, error) {},
		CommandNotFound: func(*cli.Context, string) {
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.Args().First() == "help" && c.NArg() > 1:
				return help(e, app, c.Args().Slice()[1:])
			case c.NArg() > 0 && c.Args().First() != "help":
				return unknownCommand("podctl", commands, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}}
	helpPages(app).Install()
	return app
}

// complete gives a command what all commands share. name is the command's full name.
func complete(e *shell.Env, c *cmdline.Command, name string) {
	c.Share(shell.CommandGlobals())
	c.OnUsageError = onUsageError(name, c)
	if len(c.Subcommands) > 0 {
		c.Effect, c.Action = cmdline.Reads, group(c, "podctl "+name)
	}
	c.Action = checked(e, name, c)
}

// group is the action of a command that only has subcommands.
func group(c *cmdline.Command, name string) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if given := ctx.Args().First(); given != "" {
			return unknownCommand(name, c.Subcommands, given)
		}
		var lines []string
		for _, sub := range c.Subcommands {
			lines = append(lines, name+" "+sub.Name+": "+sub.Usage)
		}
		return &shell.UsageError{Message: "no command given", Advice: strings.Join(lines, "\n")}
	}
}

// onUsageError returns a handler whose errors name the command and suggest a
// known flag for an unknown one. name is the full name of the command of, "" and nil are
// podctl itself.
func onUsageError(name string, of *cmdline.Command) cli.OnUsageErrorFunc {
	program := strings.TrimSpace("podctl " + name)
	return func(c *cli.Context, err error, inCommand bool) error {
		usage := &shell.UsageError{Message: err.Error(), Advice: program + " --help"}
		flags := c.App.VisibleFlags()
		if inCommand {
			flags = c.Command.VisibleFlags()
		}
		if flag, unknown := strings.CutPrefix(usage.Message, "flag provided but not defined: -"); unknown {
			usage.Message = "unknown flag " + cmdline.Dashed(flag)
			near, known := suggest.Word(flag, cmdline.FlagNames(flags)), ""
			if of != nil {
				known = of.ForeignFlag(flag, program)
			}
			switch {
			case known != "":
				usage.Advice = known
			case near != "":
				usage.Advice = "did you mean " + cmdline.Dashed(near) + "?"
			}
		}
		if flag, invalid := cmdline.InvalidFlag(usage.Message); invalid {
			usage.Message = strings.Replace(strings.TrimSuffix(usage.Message, ": parse error"), " -"+flag, " "+cmdline.Dashed(flag), 1)
			usage.Advice = cmp.Or(cmdline.ValueHint(flag, flags), usage.Advice)
		}
		if flag, value, invalid := cmdline.InvalidBool(usage.Message); invalid {
			usage.Message = fmt.Sprintf("invalid value %q for flag %s", value, cmdline.Dashed(flag))
			usage.Advice = fmt.Sprintf("%s, or %[1]s=false", cmdline.Dashed(flag))
		}
		if name != "" {
			usage.Message = name + ": " + usage.Message
		}
		return usage
	}
}

// unknownCommand lists the commands of the parent, or suggests one.
func unknownCommand(parent string, commands []*cmdline.Command, name string) error {
	var known []string
	for _, cmd := range commands {
		known = append(known, cmd.Name)
	}
	hint := "one of: " + strings.Join(known, ", ")
	if parent == "podctl" {
		hint = "podctl help lists the commands"
	}
	near := suggest.Word(name, known)
	switch {
	case parent == "podctl" && cmdline.ForeignCommands[name] != "":
		hint = cmdline.ForeignCommands[name]
	case near != "":
		hint = "did you mean " + parent + " " + near + "?"
	}
	return &shell.UsageError{Message: fmt.Sprintf("unknown command %q", name), Advice: hint}
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
		err := enter(e, c, command)
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
func enter(e *shell.Env, c *cli.Context, command *cmdline.Command) error {
	if err := shell.Refuse(e, c, command.Effect); err != nil {
		return err
	}
	if len(command.Subcommands) == 0 {
		if wrong, ok := errors.AsType[*cmdline.ArgsError](command.CheckArgs(c.Args().Slice())); ok {
			return &shell.UsageError{Message: wrong.Message, Advice: wrong.Advice}
		}
	}
	return hostroot.Enter(shell.HostRoot(c))
}
