package cmdline

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// globalCategory is the heading of the global flags.
const globalCategory = "GLOBAL OPTIONS"

// ExitCode is an exit code and what it means.
type ExitCode struct {
	Code    int
	Meaning string
}

// Help makes the help of an app and of its commands.
type Help struct {
	// Program is the name of the program, "" for podctl.
	Program string
	// Globals returns the flags that the app and all commands have.
	Globals   func() []cli.Flag
	ExitCodes []ExitCode
	// Topics are what help explains beside commands.
	Topics []string
	// Commands are those of the app.
	Commands []*Command
}

// Category is a group of commands in the help.
type Category struct {
	Name     string
	Commands []*Command
}

// Categories groups the visible commands by their category, in the order in which
// the categories first appear.
func Categories(commands []*Command) []Category {
	var all []Category
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		i := slices.IndexFunc(all, func(known Category) bool { return known.Name == c.Section })
		if i < 0 {
			i, all = len(all), append(all, Category{Name: c.Section})
		}
		all[i].Commands = append(all[i].Commands, c)
	}
	return all
}

// Options describes flags.
func Options(flags []cli.Flag) string {
	var rows []row
	for _, f := range flags {
		rows = append(rows, Describe(f).row())
	}
	return columns(rows)
}

// PrintHelp prints the help of a command, or of the program. program is its full name, after that
// of podctl.
func (a *App) PrintHelp(w io.Writer, program string) error {
	_, name, _ := strings.Cut(program, " ")
	text := ""
	if name == "" {
		text = a.Help.app(a.App)
	}
	Walk(a.Commands, func(known string, c *Command) {
		if known == name {
			text = a.Help.command(c.build(name))
		}
	})
	_, err := io.WriteString(w, text)
	return err
}

// app and command return help as text.
func (h Help) app(a *cli.App) string {
	var b strings.Builder
	program := cmp.Or(h.Program, "podctl")
	b.WriteString("USAGE:\n   " + program + " [global options] COMMAND [options] [arguments]\n\n" + indented(a.Description))
	for _, category := range Categories(h.Commands) {
		b.WriteString("\n" + strings.ToUpper(category.Name) + ":\n" + commandLines(category.Commands))
	}
	b.WriteString("\n" + globalCategory + ", before or after the command:\n" + appOptions(a.Flags))
	b.WriteString("\nEXIT CODES:\n")
	var codes []row
	for _, c := range h.ExitCodes {
		codes = append(codes, row{strconv.Itoa(c.Code), c.Meaning})
	}
	b.WriteString(columns(codes))
	b.WriteString("\nRun " + program + " COMMAND --help for the options of a command.\n")
	if len(h.Topics) > 0 {
		b.WriteString("Run " + program + " help TOPIC for one of:\n  " + strings.Join(h.Topics, ", ") + ".\n")
	}
	return b.String()
}

func (h Help) command(c *cli.Command) string {
	shown := cmp.Or(h.Program, "podctl") + strings.TrimPrefix(c.HelpName, "podctl")
	text := "USAGE:\n   " + strings.TrimSpace(shown+" [options] "+c.ArgsUsage) + "\n\n" + indented(c.Usage)
	if c.Description != "" {
		text += "\n" + indented(c.Description)
	}
	var own []cli.Flag
	Walk(h.Commands, func(known string, command *Command) {
		if "podctl "+known != c.HelpName {
			return
		}
		own = c.Flags[:len(command.Flags)]
		if len(command.Subcommands) > 0 {
			text += "\nCOMMANDS:\n" + commandLines(command.Subcommands)
		}
		if names := command.sortedAliases(); len(names) > 0 {
			text += "\nALIASES:\n   " + strings.Join(names, ", ") + "\n"
		}
	})
	return text + "\nOPTIONS:\n" + Options(append(slices.Clip(own), cli.HelpFlag)) +
		"\n" + globalCategory + ":\n" + Options(Besides(h.Globals(), own))
}

func commandLines(commands []*Command) string {
	var rows []row
	for _, c := range commands {
		rows = append(rows, row{c.Name, c.Usage})
	}
	return columns(rows)
}

// appOptions describes the flags of an app. The library has added its own ones if the app
// has parsed a command line.
func appOptions(flags []cli.Flag) string {
	added := FlagNames([]cli.Flag{cli.HelpFlag, cli.VersionFlag})
	own := slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool { return slices.Contains(added, f.Names()[0]) })
	return Options(append(own, cli.HelpFlag, cli.VersionFlag))
}

// indented is text with a margin. Lines that are too long are wrapped; what does not fit in a
// line of prose, which has no indentation, goes on in the next one.
func indented(text string) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		content := strings.TrimLeft(line, " ")
		indent := margin + strings.Repeat(" ", len(line)-len(content))
		if utf8.RuneCountInString(margin+line) <= helpWidth {
			b.WriteString(strings.TrimRight(margin+line, " ") + "\n")
			continue
		}
		parts := wrapped(content, helpWidth-len(indent))
		last := len(parts) - 1
		if next := i + 1; indent == margin && next < len(lines) && lines[next] != "" && lines[next][0] != ' ' {
			lines[next] = parts[last] + " " + lines[next]
			parts = parts[:last]
		}
		for _, part := range parts {
			b.WriteString(indent + part + "\n")
		}
	}
	return b.String()
}
