// Package node is the commands that examine the node: doctor, pleg, preempt.
package node

import (
	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/pleg"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Commands are the commands of the section, in the order of the help.
func Commands(e *shell.Env) []*cmdline.Command {
	return []*cmdline.Command{
		doctorCommand(e),
		pleg.Command(e),
		preemptCommand(e),
	}
}
