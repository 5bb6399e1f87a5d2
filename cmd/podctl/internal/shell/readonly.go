package shell

import (
	"os"
	"strconv"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/urfave/cli/v2"
)

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

// Refuse returns a *ReadOnlyError if a command line with an effect changes something and
// podctl is read-only.
func Refuse(e *Env, c *cli.Context, effect cmdline.Effect) error {
	if !e.ReadOnly && !ReadOnly(c) {
		return nil
	}
	if unless, refused := effect.Refused(c); refused {
		return &ReadOnlyError{Unless: unless}
	}
	return nil
}

// ReadOnlyError: the command changes something, and podctl is read-only.
type ReadOnlyError struct {
	// Unless is an argument with which the command only reads, "" if there is none.
	Unless string
}

func (*ReadOnlyError) Error() string { return "refused: podctl is read-only" }

// Hint names the way out.
func (e *ReadOnlyError) Hint() string {
	hint := "--read-only or " + globalEnv(readOnlyFlag) + " is set: run it where neither is"
	if e.Unless != "" {
		hint += ", or with " + e.Unless + ", which only reads"
	}
	return hint
}
