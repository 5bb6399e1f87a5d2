package plugin

import (
	"github.com/urfave/cli/v2"
)

// form is what a command prints, and so how the answers of nodes become one.
type form uint8

const (
	// text is lines, or JSON with -o json: what a command prints that is not named below.
	text form = iota
	// listing is a list in each format.
	listing
	// page is text, and a list in the data formats.
	page
	// either is text; without nodes the command runs on this machine.
	either
	// local: the command is about files of this machine, and runs there.
	local
	// refused: the command is about files, ports or processes of one machine, and would
	// find those of the inspector's container.
	refused
)

// forms are those of the commands.
var forms = map[string]form{
	"pods": listing, "orphans": listing, "terminating": listing, "top": listing, "events": listing, "images": listing, "doctor": listing,
	"describe": page, "inspect": page,
	"version":  either,
	"validate": local, "render": local, "options": local, "completion": local, "__complete": local, "__man": local,
	"run": refused, "agent": refused, "cp": refused, "port-forward": refused, "sim": refused,
}

// formOf is the form of a command line.
func formOf(name string, c *cli.Context) form {
	f := forms[name]
	if f == listing && c.Bool("kill") { // orphans --kill prints each call
		return text
	}
	return f
}

// streams reports whether a command line prints without an end, or reads what is typed.
func streams(name string, c *cli.Context) bool {
	return c.Bool("watch") || c.Bool("follow") || c.Bool("stdin") || c.Bool("tty") || name == "attach"
}
