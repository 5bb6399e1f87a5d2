// Package lab holds the commands for developers of runtimes and of their clients.
package lab

import (
	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Commands returns the commands of the section, in the order of the help.
func Commands(e *shell.Env) []*cmdline.Command {
	return []*cmdline.Command{
		conformCommand(e),
		probeCommand(e),
		proxyCommand(e),
		traceCommand(e),
		watchdogCommand(e),
	}
}
