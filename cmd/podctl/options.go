package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

func optionsCommand(e *shell.Env) *cli.Command {
	return &cli.Command{
		Name:  "options",
		Usage: "list the global options",
		Action: func(*cli.Context) error {
			_, err := fmt.Fprint(e.Out, cmdline.Options(shell.GlobalFlags()))
			return err
		},
	}
}
