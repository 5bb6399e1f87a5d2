package main

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// manCommand writes the man pages, for `make install`.
func manCommand() *cli.Command {
	return &cli.Command{
		Name: "__man", Hidden: true, ArgsUsage: "DIR",
		Usage: "write the man pages below a directory: man1, man7",
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return shell.Usagef("no directory given")
			}
			for name, page := range manPages(c.App) {
				path := filepath.Join(c.Args().First(), "man"+name[len(name)-1:], name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// manPages returns the man pages by file name.
func manPages(app *cli.App) map[string]string {
	return cmdline.Man{
		Help: helpPages(), Version: shell.Version(),
		Topic: func(name string) string { text, _ := topic(name); return text },
	}.Pages(app)
}
