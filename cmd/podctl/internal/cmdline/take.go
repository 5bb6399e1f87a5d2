package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Taken is a command line without some of its flags.
type Taken struct {
	// Args are the others, without the program's name, as Reorder takes them. The flags of the innermost
	// command begin at Command.
	Args    []string
	Command int
	// Values are those of the flags that were taken, by the flag's first name, in the
	// order in which they were given. A flag without a value has "true".
	Values map[string][]string
}

// Take removes the flags that take selects from a command line in the order of Reorder.
func Take(app *App, ordered []string, take func(cli.Flag) bool) Taken {
	t := Taken{Values: map[string][]string{}}
	var command Command
	flags, commands := app.Flags, app.Commands
	rest := ordered[min(1, len(ordered)):]
	for {
		rest = t.flags(rest, flags, take)
		if len(commands) == 0 || len(rest) == 0 {
			break
		}
		c := Find(commands, rest[0])
		if c == nil {
			break
		}
		t.Args, rest = append(t.Args, rest[0]), rest[1:]
		t.Command = len(t.Args)
		command, flags, commands = *c, c.AllFlags(), c.Subcommands
	}
	if command.Args.keepsDashes() && len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:] // Reorder has put it before the one that the user typed
	}
	t.Args = append(t.Args, rest...)
	return t
}

// flags reads the flags at the beginning of args, and returns what follows.
func (t *Taken) flags(args []string, flags []cli.Flag, take func(cli.Flag) bool) []string {
	takesValue := values(flags)
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" && args[0] != "--" {
		name, value, assigned := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		n := 1
		switch {
		case assigned:
		case takesValue[name] && len(args) > 1:
			n, value = 2, args[1]
		default:
			value = "true"
		}
		i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		if i >= 0 && take(flags[i]) {
			first := flags[i].Names()[0]
			t.Values[first] = append(t.Values[first], value)
		} else {
			t.Args = append(t.Args, args[:n]...)
		}
		args = args[n:]
	}
	return args
}
