// Package program is the commands about podctl itself: its version, options, completion,
// help, man pages, and the simulated runtime.
package program

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

func optionsCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "options",
		Usage:   "list the global options",
		Effect:  cmdline.Reads,
		OnNodes: cmdline.Here,
		Action: func(*cli.Context) error {
			_, err := fmt.Fprint(e.Out, cmdline.Options(shell.GlobalFlags()))
			return err
		},
	}
}

// Commands are the commands of the section, in the order of the help. app returns the app
// that they describe.
func Commands(e *shell.Env, app func() *cmdline.App) []*cmdline.Command {
	return []*cmdline.Command{
		versionCommand(e),
		optionsCommand(e),
		completionCommand(e),
		completeCommand(e, app),
		manCommand(app),
		simCommand(e),
	}
}
