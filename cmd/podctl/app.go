package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

const about = `podctl runs Kubernetes pods on a CRI runtime (containerd, CRI-O) without a
control plane, exactly as the kubelet would.

   podctl run pod.yaml           run pods in the foreground until they end
   podctl agent --manifests DIR  the same as a service that follows a directory
   podctl validate pod.yaml      what the API server would say, with file:line
   podctl render pod.yaml        the CRI configs that a manifest becomes
   podctl pods                   what the runtime holds, and whose it is`

// run is the whole program but for the process around it.
func run(args []string, e *env) int {
	err := newApp(e).Run(args)
	printError(e.errw, err)
	return exitCode(err)
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
		Usage:                     "pods on a CRI runtime, without a control plane",
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
		// main exits, and printError prints.
		ExitErrHandler: func(*cli.Context, error) {},
		CommandNotFound: func(*cli.Context, string) {
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.Args().First() == "help" && c.NArg() > 1:
				return showHelp(c, "podctl", c.App.Commands, c.Args().Slice()[1:])
			case c.NArg() > 0 && c.Args().First() != "help":
				return notACommand("podctl", c.App.Commands, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	app.CustomAppHelpTemplate = appHelp(app)
	return app
}

// dress gives a command what all commands have, and its subcommands too. name
// is all of its words.
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

// onUsageError makes what names the command, and what a flag that does not
// exist was meant to be. command is "" for podctl itself.
func onUsageError(command string) cli.OnUsageErrorFunc {
	program := strings.TrimSpace("podctl " + command)
	return func(c *cli.Context, err error, inCommand bool) error {
		usage := &usageError{message: err.Error(), hint: program + " --help"}
		flags := c.App.VisibleFlags()
		if inCommand {
			flags = c.Command.VisibleFlags()
		}
		if name, unknown := strings.CutPrefix(usage.message, "flag provided but not defined: -"); unknown {
			usage.message = "unknown flag " + dashed(name)
			near, known := closest(name, flagNames(flags)), ""
			if inCommand {
				known = foreignFlag(name, program, c.Command)
			}
			switch {
			case known != "":
				usage.hint = known
			case near != "":
				usage.hint = "did you mean " + dashed(near) + "?"
			}
		}
		if name, unreadable := unreadableFlag(usage.message); unreadable {
			usage.message = strings.Replace(strings.TrimSuffix(usage.message, ": parse error"), " -"+name, " "+dashed(name), 1)
			usage.hint = cmp.Or(valueHint(name, flags), usage.hint)
		}
		if command != "" {
			usage.message = command + ": " + usage.message
		}
		return usage
	}
}

// showHelp is `podctl help COMMAND`: words are all of the command's name.
func showHelp(c *cli.Context, parent string, commands []*cli.Command, words []string) error {
	i := slices.IndexFunc(commands, func(sub *cli.Command) bool { return sub.Name == words[0] })
	switch {
	case i < 0:
		return notACommand(parent, commands, words[0])
	case len(words) > 1 && len(commands[i].Subcommands) > 0:
		return showHelp(c, parent+" "+words[0], commands[i].Subcommands, words[1:])
	}
	cli.HelpPrinter(c.App.Writer, "", commands[i])
	return nil
}

// notACommand says which commands of the parent there are, and which one was
// meant if one is near.
func notACommand(parent string, commands []*cli.Command, name string) error {
	var known []string
	for _, cmd := range commands {
		known = append(known, cmd.Name)
	}
	hint := "one of: " + strings.Join(known, ", ")
	near := closest(name, known)
	switch {
	case parent == "podctl" && foreignCommands[name] != "":
		hint = foreignCommands[name]
	case near != "":
		hint = "did you mean " + parent + " " + near + "?"
	}
	return &usageError{message: fmt.Sprintf("unknown command %q", name), hint: hint}
}

// checked wraps an action with what all commands share: flags behind
// arguments are refused, -v takes effect, errors carry the command's name.
func checked(e *env, name string, action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		for _, arg := range c.Args().Slice() {
			if strings.HasPrefix(arg, "-") && arg != "-" {
				return &usageError{
					message: fmt.Sprintf("%s: %q comes after an argument", name, arg),
					hint:    fmt.Sprintf("flags go first: podctl %s %s …", name, arg),
				}
			}
		}
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
