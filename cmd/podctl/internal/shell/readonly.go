package shell

import (
	"errors"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/sys/hint"
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
