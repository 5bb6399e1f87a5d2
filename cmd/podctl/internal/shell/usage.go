package shell

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// OnUsageError returns a handler whose errors name the command and suggest a
// known flag for an unknown one. name is the full name of the command of, "" and nil are
// podctl itself.
func OnUsageError(name string, of *cmdline.Command) cli.OnUsageErrorFunc {
	program := strings.TrimSpace("podctl " + name)
	return func(c *cli.Context, err error, inCommand bool) error {
		usage := &UsageError{Message: err.Error(), Advice: program + " --help"}
		flags := c.App.VisibleFlags()
		if inCommand {
			flags = c.Command.VisibleFlags()
		}
		if flag, unknown := strings.CutPrefix(usage.Message, "flag provided but not defined: -"); unknown {
			usage.Message = "unknown flag " + cmdline.Dashed(flag)
			near, known := suggest.Word(flag, cmdline.FlagNames(flags)), ""
			if of != nil {
				known = of.ForeignFlag(flag, program)
			}
			switch {
			case known != "":
				usage.Advice = known
			case near != "":
				usage.Advice = "did you mean " + cmdline.Dashed(near) + "?"
			}
		}
		if flag, invalid := cmdline.InvalidFlag(usage.Message); invalid {
			usage.Message = strings.Replace(strings.TrimSuffix(usage.Message, ": parse error"), " -"+flag, " "+cmdline.Dashed(flag), 1)
			usage.Advice = cmp.Or(cmdline.ValueHint(flag, flags), usage.Advice)
		}
		if flag, value, invalid := cmdline.InvalidBool(usage.Message); invalid {
			usage.Message = fmt.Sprintf("invalid value %q for flag %s", value, cmdline.Dashed(flag))
			usage.Advice = fmt.Sprintf("%s, or %[1]s=false", cmdline.Dashed(flag))
		}
		if name != "" {
			usage.Message = name + ": " + usage.Message
		}
		return usage
	}
}

// UnknownCommand returns an error that lists the commands of the parent, or suggests one.
func UnknownCommand(parent string, commands []*cmdline.Command, name string) error {
	var known []string
	for _, cmd := range commands {
		known = append(known, cmd.Name)
	}
	hint := "one of: " + strings.Join(known, ", ")
	if parent == "podctl" {
		hint = "podctl help lists the commands"
	}
	near := suggest.Word(name, known)
	switch {
	case parent == "podctl" && cmdline.ForeignCommands[name] != "":
		hint = cmdline.ForeignCommands[name]
	case near != "":
		hint = "did you mean " + parent + " " + near + "?"
	}
	return &UsageError{Message: fmt.Sprintf("unknown command %q", name), Advice: hint}
}

const readOnlyFlag = "read-only"

// ReadOnly reports whether --read-only is given before or after the command.
func ReadOnly(c *cli.Context) bool {
	for _, at := range c.Lineage() {
		if at.Bool(readOnlyFlag) {
			return true
		}
	}
	return false
}

// readOnlyEnv reports whether the environment makes podctl read-only, which no
// flag revokes: in a container without a shell, all that a user can run is
// read-only then.
func readOnlyEnv() bool {
	value := os.Getenv(globalEnv(readOnlyFlag))
	set, err := strconv.ParseBool(value)
	return value != "" && (err != nil || set)
}

// Refuse returns ErrReadOnly if a command line with an effect changes something and
// podctl is read-only.
func Refuse(e *Env, c *cli.Context, effect cmdline.Effect) error {
	if !e.ReadOnly && !ReadOnly(c) {
		return nil
	}
	if unless, refused := effect.Refused(c); refused {
		advice := "--read-only or " + globalEnv(readOnlyFlag) + " is set: run it where neither is"
		if unless != "" { // an argument with which the command only reads
			advice += ", or with " + unless + ", which only reads"
		}
		return hint.With(ErrReadOnly, advice)
	}
	return nil
}

// ErrReadOnly reports that the command changes something, and podctl is read-only.
var ErrReadOnly = errors.New("refused: podctl is read-only")
