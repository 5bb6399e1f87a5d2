package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// MissingValueError is a flag that takes a value and is the last argument.
type MissingValueError struct{ Flag string }

func (e *MissingValueError) Error() string { return fmt.Sprintf("flag needs a value: %s", e.Flag) }

// Reorder returns the command line with the flags of each command before its
// arguments, as urfave/cli needs them: pods web -o json becomes pods -o json web.
// An alias of a command is replaced by it (see Expand). It splits -ojson and -Aw as kubectl reads them. What follows -- is left alone;
// where a command takes a command line after a --, it remains among the arguments.
// args begins with the program's name. The error is a *MissingValueError.
func Reorder(app *App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	flags, commands := app.Flags, app.Commands
	result, rest := args[:1:1], args[1:]
	var command Command
	for depth := 0; ; depth++ {
		level, err := splitLevel(rest, flags, len(commands) > 0, command.Args)
		if err != nil {
			return nil, err
		}
		result = append(result, level.flags...)
		if len(commands) == 0 || len(level.arguments) == 0 {
			return append(result, level.arguments...), nil
		}
		if depth == 0 {
			level.arguments = Expand(level.arguments, commands)
		}
		name := level.arguments[0]
		c := Find(commands, name)
		if c == nil {
			return append(result, level.arguments...), nil
		}
		result, rest = append(result, name), level.arguments[1:]
		command, flags, commands = *c, c.AllFlags(), c.Subcommands
	}
}

// level is what belongs to one command.
type level struct{ flags, arguments []string }

// splitLevel splits the flags of a command from its arguments. For a command
// with subcommands, the first argument ends the search: what follows is the
// subcommand's. A -- stays among the arguments where a tells so, and is added where the command
// line may follow without it.
func splitLevel(args []string, flags []cli.Flag, hasSubcommands bool, a Args) (level, error) {
	var l level
	takesValue := values(flags)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--" && a.keepsDashes():
			l.arguments = append(append([]string{arg}, l.arguments...), append([]string{arg}, args...)...)
			return l, nil
		case arg == "--":
			l.arguments = append(append([]string{arg}, l.arguments...), args...)
			return l, nil
		case !strings.HasPrefix(arg, "-") && len(l.arguments) == 1 && a.Bare != nil && a.Bare(l.arguments[0]):
			l.arguments = append([]string{"--", l.arguments[0], "--", arg}, args...)
			return l, nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			l.arguments = append(l.arguments, arg)
			if hasSubcommands {
				l.arguments = append(l.arguments, args...)
				return l, nil
			}
			continue
		}
		split := splitShort(arg, takesValue)
		l.flags = append(l.flags, split...)
		last := split[len(split)-1]
		name := strings.TrimLeft(last, "-")
		if strings.Contains(name, "=") || len(split) > 1 && !strings.HasPrefix(last, "-") || !takesValue[name] {
			continue
		}
		if len(args) == 0 {
			return l, &MissingValueError{last}
		}
		l.flags, args = append(l.flags, args[0]), args[1:]
	}
	return l, nil
}

// splitShort splits short flags that are written together: -Aw is -A -w, and
// -ojson is -o json. Other flags are returned as they are.
func splitShort(arg string, takesValue map[string]bool) []string {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if _, known := takesValue[name]; known || strings.HasPrefix(arg, "--") {
		return []string{arg}
	}
	var split []string
	for rest := arg[1:]; rest != ""; {
		short := rest[:1]
		value, known := takesValue[short]
		switch {
		case !known:
			return []string{arg} // urfave/cli reports it
		case value && len(rest) > 1:
			return append(split, "-"+short, strings.TrimPrefix(rest[1:], "="))
		}
		split, rest = append(split, "-"+short), rest[1:]
	}
	return split
}

// values maps the names of flags to whether they take a value.
func values(flags []cli.Flag) map[string]bool {
	takes := map[string]bool{}
	for _, f := range append(slices.Clip(flags), cli.HelpFlag, cli.VersionFlag) {
		doc, ok := f.(cli.DocGenerationFlag)
		for _, name := range f.Names() {
			takes[name] = ok && doc.TakesValue()
		}
	}
	return takes
}
