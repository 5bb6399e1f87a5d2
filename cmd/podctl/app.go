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
	"github.com/podctl/podctl/cmd/podctl/internal/output"
)

const about = `podctl runs Kubernetes pods on a CRI runtime (containerd, CRI-O) without a
control plane, as the kubelet would; differences are documented.

   podctl run pod.yaml           run pods in the foreground until they end
   podctl agent --manifests DIR  run the pods of a directory as a service
   podctl validate pod.yaml      validate manifests as the API server would, with file:line
   podctl render pod.yaml        print the CRI configs of a manifest
   podctl pods                   list the pods of the runtime and their owners`

// run is the whole program without its process.
func run(args []string, e *env) int {
	// Everything printed passes a writer that escapes control characters; what
	// is to reach the terminal or a file unchanged takes output.Raw.
	e.out, e.errw = output.NewWriter(e.out), output.NewWriter(e.errw)
	err := runApp(newApp(e), args)
	printError(e.errw, err)
	return exitCode(err)
}

func runApp(app *cli.App, args []string) error {
	ordered, err := cmdline.Reorder(app, args)
	if missing, ok := errors.AsType[*cmdline.MissingValueError](err); ok {
		return &usageError{message: missing.Error(), hint: "podctl COMMAND --help"}
	}
	return app.Run(ordered)
}

func newApp(e *env) *cli.App {
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Usage: "print the version"} // -v is verbose
	commands := []*cli.Command{
		runCommand(e), agentCommand(e), validateCommand(e), renderCommand(e),
		podsCommand(e), orphansCommand(e), terminatingCommand(e), stopCommand(e), startCommand(e), rmCommand(e),
		plegCommand(e), preemptCommand(e),
	}
	for _, c := range commands {
		dress(e, c, c.Name)
	}
	app := &cli.App{
		Name:                      "podctl",
		Usage:                     "run Kubernetes pods on a CRI runtime without a control plane",
		Description:               about,
		Version:                   version(),
		Commands:                  commands,
		Flags:                     globalFlags(),
		Reader:                    e.in,
		Writer:                    e.out,
		ErrWriter:                 e.errw,
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
				return showHelp(c, "podctl", c.App.Commands, c.Args().Slice()[1:])
			case c.NArg() > 0 && c.Args().First() != "help":
				return unknownCommand("podctl", c.App.Commands, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	cmdline.Help{Globals: globalFlags, ExitCodes: exitCodes}.Install(app)
	return app
}

// dress gives a command and its subcommands what all commands share. name is
// the command's full name.
func dress(e *env, c *cli.Command, name string) {
	for _, sub := range c.Subcommands {
		dress(e, sub, name+" "+sub.Name)
	}
	c.Flags = append(c.Flags, commandGlobals()...)
	c.HideHelpCommand = true
	c.OnUsageError = onUsageError(name)
	c.HelpName = "podctl " + name
	if c.Action != nil {
		c.Action = checked(e, name, c.Action)
	}
}

// onUsageError returns a handler whose errors name the command and suggest a
// known flag for an unknown one. command is "" for podctl itself.
func onUsageError(command string) cli.OnUsageErrorFunc {
	program := strings.TrimSpace("podctl " + command)
	return func(c *cli.Context, err error, inCommand bool) error {
		usage := &usageError{message: err.Error(), hint: program + " --help"}
		flags := c.App.VisibleFlags()
		if inCommand {
			flags = c.Command.VisibleFlags()
		}
		if name, unknown := strings.CutPrefix(usage.message, "flag provided but not defined: -"); unknown {
			usage.message = "unknown flag " + cmdline.Dashed(name)
			near, known := cmdline.Closest(name, cmdline.FlagNames(flags)), ""
			if inCommand {
				known = cmdline.ForeignFlag(name, program, c.Command)
			}
			switch {
			case known != "":
				usage.hint = known
			case near != "":
				usage.hint = "did you mean " + cmdline.Dashed(near) + "?"
			}
		}
		if name, invalid := cmdline.InvalidFlag(usage.message); invalid {
			usage.message = strings.Replace(strings.TrimSuffix(usage.message, ": parse error"), " -"+name, " "+cmdline.Dashed(name), 1)
			usage.hint = cmp.Or(cmdline.ValueHint(name, flags), usage.hint)
		}
		if command != "" {
			usage.message = command + ": " + usage.message
		}
		return usage
	}
}

// showHelp is `podctl help COMMAND`: words are the command's full name.
func showHelp(c *cli.Context, parent string, commands []*cli.Command, words []string) error {
	i := slices.IndexFunc(commands, func(sub *cli.Command) bool { return sub.Name == words[0] })
	switch {
	case i < 0:
		return unknownCommand(parent, commands, words[0])
	case len(words) > 1 && len(commands[i].Subcommands) > 0:
		return showHelp(c, parent+" "+words[0], commands[i].Subcommands, words[1:])
	}
	cli.HelpPrinter(c.App.Writer, "", commands[i])
	return nil
}

// unknownCommand lists the commands of the parent, or suggests one.
func unknownCommand(parent string, commands []*cli.Command, name string) error {
	var known []string
	for _, cmd := range commands {
		known = append(known, cmd.Name)
	}
	hint := "one of: " + strings.Join(known, ", ")
	near := cmdline.Closest(name, known)
	switch {
	case parent == "podctl" && cmdline.ForeignCommands[name] != "":
		hint = cmdline.ForeignCommands[name]
	case near != "":
		hint = "did you mean " + parent + " " + near + "?"
	}
	return &usageError{message: fmt.Sprintf("unknown command %q", name), hint: hint}
}

// checked wraps an action with what all commands share: -v takes effect, and
// errors carry the command's name.
func checked(e *env, name string, action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		switch {
		case nearest(c, "debug", (*cli.Context).Bool):
			e.level.Set(slog.LevelDebug)
		case nearest(c, "verbose", (*cli.Context).Bool):
			e.level.Set(slog.LevelInfo)
		}
		if timeout := nearest(c, "timeout", (*cli.Context).Duration); timeout < 0 {
			return usagef("--timeout %s is negative", timeout)
		}
		if err := action(c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}
