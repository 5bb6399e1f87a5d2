package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// plegCommand groups the commands that show the inside of the PLEG.
func plegCommand(e *env) *cli.Command {
	return groupCommand(&cli.Command{
		Name:  "pleg",
		Usage: "what happens to the pods of a runtime, and what that waits for",
		Subcommands: []*cli.Command{
			plegWatchCommand(e),
		},
	})
}

// groupCommand is a command that does nothing without a subcommand.
func groupCommand(c *cli.Command) *cli.Command {
	var names []string
	for _, sub := range c.Subcommands {
		names = append(names, sub.Name)
	}
	c.ArgsUsage = "COMMAND"
	c.Action = func(ctx *cli.Context) error {
		given := ctx.Args().First()
		if given == "" || given == "help" {
			return &usageError{message: "no command given", hint: "one of: " + strings.Join(names, ", ")}
		}
		hint := "one of: " + strings.Join(names, ", ")
		if near := closest(given, names); near != "" {
			hint = "did you mean podctl " + c.Name + " " + near + "?"
		}
		return &usageError{message: "unknown command " + given, hint: hint}
	}
	return c
}
