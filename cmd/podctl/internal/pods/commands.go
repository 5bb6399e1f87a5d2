// Package pods is the commands that list pods of any owner, and stop, start, restart and remove
// them.
package pods

import (
	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Commands are the commands of the section, in the order of the help.
func Commands(e *shell.Env) []*cmdline.Command {
	return []*cmdline.Command{
		podsCommand(e),
		psCommand(e),
		stopCommand(e),
		startCommand(e),
		restartCommand(e),
		conditionCommand(e),
		rmCommand(e),
		servicesCommand(e),
		orphansCommand(e),
		startingCommand(e),
		terminatingCommand(e),
		explainCommand(e),
	}
}
