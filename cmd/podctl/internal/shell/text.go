package shell

import (
	"slices"
	"strings"
)

// CheckText checks --output of a command that prints text, or data in one of formats.
// "table", the default of --output, is that text: it is set to "".
func (g *Globals) CheckText(command string, formats ...string) error {
	switch {
	case g.Output == "table":
		g.Output = ""
	case g.Output != "" && !slices.Contains(formats, g.Output):
		last := len(formats) - 1
		names := strings.Join(append([]string{"table"}, formats[:last]...), ", ") + " or " + formats[last]
		return Usagef("--output %q: %s prints %s", g.Output, command, names)
	}
	return nil
}
