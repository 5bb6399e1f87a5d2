// Package pleg is the commands `podctl pleg`, and the lines of the observing agent.
package pleg

import (
	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Command is `podctl pleg`, which groups the commands that show how the PLEG works.
func Command(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:  "pleg",
		Usage: "show pod lifecycle events, their detection latency, and the runtime calls that the PLEG waits for",
		Subcommands: []*cmdline.Command{
			watchCommand(e),
			checkCommand(e),
		},
	}
}
