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
