package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// plegCommand groups the commands that show the inside of the PLEG.
func plegCommand(e *env) *cli.Command {
	return groupCommand(&cli.Command{
		Name:  "pleg",
		Usage: "show what happens to the pods of a runtime, how late that is known, and what it waits for",
		Subcommands: []*cli.Command{
			plegWatchCommand(e),
			plegCheckCommand(e),
			plegCompareCommand(e),
			plegRecordCommand(e),
			plegReplayCommand(e),
		},
	})
}

// groupCommand is a command that does nothing without a subcommand.
func groupCommand(c *cli.Command) *cli.Command {
	c.ArgsUsage = "COMMAND"
	c.Action = func(ctx *cli.Context) error {
		name := "podctl " + c.Name
		if given := ctx.Args().First(); given != "" {
			return notACommand(name, c.Subcommands, given)
		}
		var lines []string
		for _, sub := range c.Subcommands {
			lines = append(lines, name+" "+sub.Name+": "+sub.Usage)
		}
		return &usageError{message: "no command given", hint: strings.Join(lines, "\n")}
	}
	return c
}
