// Package images is the commands about images: images, pull, rmi, prune.
package images

import (
	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Commands are the commands of the section, in the order of the help.
func Commands(e *shell.Env) []*cmdline.Command {
	return []*cmdline.Command{
		imagesCommand(e),
		pullCommand(e),
		rmiCommand(e),
		pruneCommand(e),
	}
}
