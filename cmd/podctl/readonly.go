package main

import (
	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// effect says what a command does to the node.
type effect struct {
	// changes reports whether a command line changes something: the runtime, its
	// pods and images, or files of the host. nil: no command line does.
	changes func(*cli.Context) bool
	// unless is what makes the command only read; "" if nothing does.
	unless string
}

var (
	reads   = effect{}
	changes = effect{changes: func(*cli.Context) bool { return true }}
)

// changesUnless is the effect of a command that only reads with a flag.
func changesUnless(flag string) effect {
	return effect{changes: func(c *cli.Context) bool { return !c.Bool(flag) }, unless: "--" + flag}
}

// effects are those of all commands. --read-only refuses what changes something;
// exec, attach and port-forward do, because what they reach may be changed by it.
var effects = map[string]effect{
	"run":      changes,
	"agent":    changesUnless("observe"),
	"validate": reads,
	"render":   reads,

	"pods":  reads,
	"stop":  changes,
	"start": changes,
	"rm":    changes,
	"orphans": {
		changes: func(c *cli.Context) bool { return c.Bool("kill") && !c.Bool("dry-run") },
		unless:  "--dry-run",
	},
	"terminating": reads,

	"describe":     reads,
	"top":          reads,
	"logs":         reads,
	"events":       reads,
	"exec":         changes,
	"attach":       changes,
	"debug":        changes,
	"cp":           changes,
	"port-forward": changes,
	"inspect":      reads,
	"wait":         reads,

	"images": reads,
	"pull":   changes,
	"rmi":    changes,
	"prune":  changesUnless("dry-run"),

	"doctor":       reads,
	"pleg watch":   reads,
	"pleg check":   reads,
	"pleg compare": reads,
	"pleg record": { // into a file of the host
		changes: func(c *cli.Context) bool { return c.Args().First() != "-" },
		unless:  "-",
	},
	"pleg replay": reads,
	"preempt":     changesUnless("dry-run"),

	"sim":        changes, // it makes a socket
	"version":    reads,
	"options":    reads,
	"completion": reads,
	"__complete": reads,
	"__man":      changes,
}

// refuse returns a *shell.ReadOnlyError if a command line changes something and
// podctl is read-only.
func refuse(e *shell.Env, name string, c *cli.Context) error {
	if !e.ReadOnly && !shell.ReadOnly(c) {
		return nil
	}
	of, known := effects[name]
	if known && (of.changes == nil || !of.changes(c)) {
		return nil
	}
	return &shell.ReadOnlyError{Unless: of.unless}
}
