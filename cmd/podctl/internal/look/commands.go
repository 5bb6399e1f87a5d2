// Package look holds the commands that look inside pods: logs, exec, describe
// and their like, one file each.
//
//	arguments ─► target ─► one container, or several ─► what the command does
//
// They work on every pod of the runtime, whatever created it, and change
// nothing of a pod unless the command's name says so. A command's constructor
// parses and checks; its run function works on an options struct.
package look

import (
	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Commands are the commands of the section, in the order of the help.
func Commands(e *shell.Env) []*cmdline.Command {
	return []*cmdline.Command{
		describeCommand(e),
		topCommand(e),
		logsCommand(e),
		eventsCommand(e),
		execCommand(e),
		attachCommand(e),
		debugCommand(e),
		cpCommand(e),
		portForwardCommand(e),
		inspectCommand(e),
		waitCommand(e),
	}
}
