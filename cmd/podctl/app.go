package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/look"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
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

func runApp(app *cli.App, args []string) error {
	ordered, err := order(app, args)
	if err != nil {
		return err
	}
	return app.Run(ordered)
}

// order returns the command line as urfave/cli reads it.
func order(app *cli.App, args []string) ([]string, error) {
	ordered, err := cmdline.Reorder(app, args)
	if missing, ok := errors.AsType[*cmdline.MissingValueError](err); ok {
		return nil, &shell.UsageError{Message: missing.Error(), Advice: "podctl COMMAND --help"}
	}
	return ordered, err
}

// commands are all commands, in the order of the help.
func commands(e *shell.Env) []*cli.Command {
	var all []*cli.Command
	add := func(category string, commands ...*cli.Command) {
		for _, c := range commands {
			c.Category = category
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
		look.Images(e),
		look.Pull(e),
		look.Rmi(e),
		look.Prune(e))
	add("examine the node",
		look.Doctor(e),
		plegCommand(e),
		preemptCommand(e))
	add("this program",
		versionCommand(e),
		optionsCommand(e),
		completionCommand(e),
		completeCommand(e),
		manCommand(),
		simulate.Command(e))
	return all
}

func newApp(e *shell.Env) *cli.App {
	commands := commands(e)
	for _, c := range commands {
		addShared(e, c, c.Name)
	}
	app := &cli.App{
		Name:                      "podctl",
		Usage:                     "run Kubernetes pods on a CRI runtime without a control plane",
		Description:               about,
		Version:                   shell.Version(),
		Commands:                  commands,
		Flags:                     shell.GlobalFlags(),
		Reader:                    e.In,
		Writer:                    e.Out,
		ErrWriter:                 e.Errw,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		OnUsageError:              onUsageError(""),
		// run maps errors to exit codes and prints them.
		ExitErrHandler: func(*cli.Context, error) {},
		CommandNotFound: func(*cli.Context, string) {
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.Args().First() == "help" && c.NArg() > 1:
				return help(c, c.Args().Slice()[1:])
			case c.NArg() > 0 && c.Args().First() != "help":
				return unknownCommand("podctl", c.App.Commands, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	helpPages().Install()
	return app
}

// addShared gives a command and its subcommands what all commands share. name is
// the command's full name.
func addShared(e *shell.Env, c *cli.Command, name string) {
	for _, sub := range c.Subcommands {
		addShared(e, sub, name+" "+sub.Name)
	}
	c.Flags = append(c.Flags, cmdline.Besides(shell.CommandGlobals(), c.Flags)...)
	c.HideHelpCommand = true
	c.OnUsageError = onUsageError(name)
	c.HelpName = "podctl " + name
	if namesPatterns(c) {
		c.Description += "\n" + patternHelp
	}
	if c.Action != nil {
		c.Action = checked(e, name, c.Action)
	}
}

// patternHelp says how several pods are named.
const patternHelp = "A name may be a pattern, 'web*' or 'kube-*/dns-?'; podctl help targets says how pods are named."

// namesPatterns reports whether a command takes patterns of pods' names, by its usage: those
// that take several pods, and exec. stop, start and rm take no patterns, nor does
// port-forward, whose further arguments are ports.
func namesPatterns(c *cli.Command) bool {
	usage := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(c.ArgsUsage, "[pods|containers] "), "["), "]")
	several := strings.Contains(strings.SplitN(usage, " ", 2)[0], "NAMESPACE/]") && strings.HasSuffix(usage, "…")
	return several && !slices.Contains([]string{"stop", "start", "rm", "port-forward"}, c.Name)
}

// onUsageError returns a handler whose errors name the command and suggest a
// known flag for an unknown one. command is "" for podctl itself.
func onUsageError(command string) cli.OnUsageErrorFunc {
	program := strings.TrimSpace("podctl " + command)
	return func(c *cli.Context, err error, inCommand bool) error {
		usage := &shell.UsageError{Message: err.Error(), Advice: program + " --help"}
		flags := c.App.VisibleFlags()
		if inCommand {
			flags = c.Command.VisibleFlags()
		}
		if name, unknown := strings.CutPrefix(usage.Message, "flag provided but not defined: -"); unknown {
			usage.Message = "unknown flag " + cmdline.Dashed(name)
			near, known := suggest.Word(name, cmdline.FlagNames(flags)), ""
			if inCommand {
				known = cmdline.ForeignFlag(name, program, c.Command)
			}
			switch {
			case known != "":
				usage.Advice = known
			case near != "":
				usage.Advice = "did you mean " + cmdline.Dashed(near) + "?"
			}
		}
		if name, invalid := cmdline.InvalidFlag(usage.Message); invalid {
			usage.Message = strings.Replace(strings.TrimSuffix(usage.Message, ": parse error"), " -"+name, " "+cmdline.Dashed(name), 1)
			usage.Advice = cmp.Or(cmdline.ValueHint(name, flags), usage.Advice)
		}
		if name, value, invalid := cmdline.InvalidBool(usage.Message); invalid {
			usage.Message = fmt.Sprintf("invalid value %q for flag %s", value, cmdline.Dashed(name))
			usage.Advice = fmt.Sprintf("%s, or %[1]s=false", cmdline.Dashed(name))
		}
		if command != "" {
			usage.Message = command + ": " + usage.Message
		}
		return usage
	}
}

// unknownCommand lists the commands of the parent, or suggests one.
func unknownCommand(parent string, commands []*cli.Command, name string) error {
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

// checked wraps an action with what all commands share: -v takes effect, a
// read-only podctl changes nothing, paths are the host's, and errors carry the
// command's name.
func checked(e *shell.Env, name string, action cli.ActionFunc) cli.ActionFunc {
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
		if err := enter(e, name, c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := action(c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}

// enter is what has to be true before any command does something.
func enter(e *shell.Env, name string, c *cli.Context) error {
	if err := refuse(e, name, c); err != nil {
		return err
	}
	return hostroot.Enter(shell.HostRoot(c))
}
