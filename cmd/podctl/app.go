package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"
)

const about = `podctl runs Kubernetes pods on a CRI runtime (containerd, CRI-O) without a
control plane, exactly as the kubelet would.

   podctl run pod.yaml          run pods in the foreground until they end
   podctl validate pod.yaml     what the API server would say, with file:line
   podctl render pod.yaml       the CRI configs that a manifest becomes`

// run is the whole program but for the process around it.
func run(args []string, e *env) int {
	err := newApp(e).Run(args)
	printError(e.errw, err)
	return exitCode(err)
}

func newApp(e *env) *cli.App {
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Usage: "print the version"} // -v is verbose
	commands := []*cli.Command{runCommand(e), validateCommand(e), renderCommand(e)}
	for _, c := range commands {
		c.Flags = append(c.Flags, globalFlags()...)
		c.OnUsageError = onUsageError
		c.Action = checked(e, c.Name, c.Action)
	}
	return &cli.App{
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
		OnUsageError:              onUsageError,
		// main exits, and printError prints.
		ExitErrHandler: func(*cli.Context, error) {},
		CommandNotFound: func(*cli.Context, string) {
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return unknownCommand(c, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
}

func onUsageError(_ *cli.Context, err error, _ bool) error {
	return &usageError{message: err.Error(), hint: "podctl --help"}
}

func unknownCommand(c *cli.Context, name string) error {
	var known []string
	for _, cmd := range c.App.VisibleCommands() {
		known = append(known, cmd.Name)
	}
	return &usageError{
		message: fmt.Sprintf("unknown command %q", name),
		hint:    "one of: " + strings.Join(known, ", "),
	}
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
		if err := action(c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}
