// Package run is the commands that run pods or read their manifests: run, agent, validate,
// render.
package run

import (
	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Commands are the commands of the section, in the order of the help.
func Commands(e *shell.Env) []*cmdline.Command {
	return []*cmdline.Command{
		runCommand(e),
		agentCommand(e),
		validateCommand(e),
		renderCommand(e),
	}
}
