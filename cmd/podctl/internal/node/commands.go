// Package node is the commands that examine the node: doctor, report, record, pleg, preempt.
package node

import (
	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/pleg"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Commands are the commands of the section, in the order of the help. run runs any command
// line of the program.
func Commands(e *shell.Env, run Run) []*cmdline.Command {
	return []*cmdline.Command{
		doctorCommand(e),
		reportCommand(e, run),
		recordCommand(e),
		pleg.Command(e),
		preemptCommand(e),
	}
}
