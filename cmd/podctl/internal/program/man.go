package program

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// manCommand writes the man pages, for `make install`.
func manCommand(app func() *cmdline.App) *cmdline.Command {
	return &cmdline.Command{
		Name: "__man", Hidden: true,
		Usage:   "write the man pages below a directory: man1, man7",
		Args:    cmdline.Args{Of: cmdline.Dir},
		Effect:  cmdline.Changes,
		OnNodes: cmdline.Here,
		Action: func(c *cli.Context) error {
			for name, page := range ManPages(app()) {
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

// ManPages returns the man pages by file name.
func ManPages(app *cmdline.App) map[string]string {
	return cmdline.Man{
		Help: HelpPages(app), Version: shell.Version(),
		Topic: func(name string) string { text, _ := topic(name); return text },
	}.Pages(app)
}
