package cmdline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Command is all that podctl knows of one of its commands. It stands beside the code of
// the command.
type Command struct {
	Name string
	// Usage is one line, Description what the help says in addition.
	Usage, Description string
	// Section is the command's section of the help.
	Section string
	Args    Args
	// Flags are the command's own.
	Flags  []cli.Flag
	Action cli.ActionFunc
	// OnUsageError explains a command line that the library refuses.
	OnUsageError cli.OnUsageErrorFunc
	// Hidden commands are not in the help.
	Hidden bool
	// Subcommands make a command without an Action a group, whose action only explains them.
	Subcommands []*Command

	// Effect is what the command does to the node.
	Effect Effect
	// OnRecording: the command works on a recording. All that it reads is of the runtime, or of a
	// door of its environment behind which a recording stands.
	OnRecording bool
	// OnNodes is how the command runs on nodes, through kubectl podctl.
	OnNodes OnNodes
	// Data are values of the types that -o json prints, the outermost first; docs/cli.md
	// documents them.
	Data []any

	// Aliases are words of kubectl, crictl and docker that stand for the command.
	Aliases []string
	// FlagHints are flags of kubectl, crictl and docker that the command does not have, by
	// name, and what to type instead.
	FlagHints map[string]string

	// shared are flags that several commands have.
	shared []cli.Flag
}

// OnNodes is how a command runs on nodes, and how their answers become one.
type OnNodes uint8

const (
	// NodeText: the command prints lines, or JSON with -o json.
	NodeText OnNodes = iota
	// NodeList: the command prints a list in each format.
	NodeList
	// NodePage: the command prints text, and a list in the data formats.
	NodePage
	// NodeFile: the command writes a file that --output names, - for its standard output.
	NodeFile
	// NodeOrHere: the command prints text, and runs on this machine if no node is selected.
	NodeOrHere
	// Here: the command is about files of this machine, and runs there.
	Here
	// NotOnNodes: the command is about files, ports or processes of one machine, and would
	// find those of the inspector's container.
	NotOnNodes
)

// Effect is what a command does to the node: to the runtime, its pods and images, or files
// of the host. The zero value is unstated, which --read-only refuses.
type Effect struct {
	stated bool
	// changes reports whether a command line changes something.
	changes func(*cli.Context) bool
	// unless is an argument with which the command only reads, "" if there is none.
	unless string
}

var (
	// Reads is the effect of a command that changes nothing.
	Reads = Effect{stated: true, changes: func(*cli.Context) bool { return false }}
	// Changes is the effect of a command that changes something.
	Changes = Effect{stated: true, changes: func(*cli.Context) bool { return true }}
)

// ChangesUnless is the effect of a command that only reads with a flag.
func ChangesUnless(flag string) Effect {
	return ChangesIf(func(c *cli.Context) bool { return !c.Bool(flag) }, "--"+flag)
}

// ChangesIf is the effect of a command that changes something where changes returns true,
// and never with the argument unless.
func ChangesIf(changes func(*cli.Context) bool, unless string) Effect {
	return Effect{stated: true, changes: changes, unless: unless}
}

// Refused reports whether --read-only refuses a command line, and the argument with which
// it would not, "" if there is none.
func (f Effect) Refused(c *cli.Context) (unless string, refused bool) {
	return f.unless, !f.stated || f.changes(c)
}

// patternHelp says how several pods are named.
const patternHelp = "A name may be a pattern, 'web*' or 'kube-*/dns-?'; podctl help targets says how pods are named."

// Details is the description, and what derives from the other fields.
func (c *Command) Details() string {
	if c.Args.Patterns {
		return c.Description + "\n" + patternHelp
	}
	return c.Description
}

// ArgsUsage is the arguments as the help shows them.
func (c *Command) ArgsUsage() string {
	if len(c.Subcommands) > 0 {
		return cmp.Or(c.Args.Name, "COMMAND")
	}
	return c.Args.Usage()
}

// Share gives the command flags that other commands have, too: those whose name it does
// not use itself.
func (c *Command) Share(flags []cli.Flag) {
	c.shared = append(c.shared, Besides(flags, c.AllFlags())...)
}

// AllFlags are the command's own flags, then the shared ones.
func (c *Command) AllFlags() []cli.Flag {
	return append(append([]cli.Flag(nil), c.Flags...), c.shared...)
}

// build returns the command as the library runs it. name is its full name.
func (c *Command) build(name string) *cli.Command {
	built := &cli.Command{
		Name: c.Name, Usage: c.Usage, Description: c.Details(), ArgsUsage: c.ArgsUsage(), Category: c.Section,
		Flags: append(c.AllFlags(), cli.HelpFlag), Action: c.Action, Hidden: c.Hidden, OnUsageError: c.OnUsageError,
		HelpName: "podctl " + name,
	}
	for _, sub := range c.Subcommands {
		built.Subcommands = append(built.Subcommands, sub.build(name+" "+sub.Name))
	}
	return built
}

// Find returns the command of a name among several, nil if there is none.
func Find(commands []*Command, name string) *Command {
	for _, c := range commands {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Walk calls f for each of the commands and their subcommands, with its full name.
func Walk(commands []*Command, f func(name string, c *Command)) { walk(commands, "", f) }

func walk(commands []*Command, parent string, f func(name string, c *Command)) {
	for _, c := range commands {
		name := strings.TrimSpace(parent + " " + c.Name)
		f(name, c)
		walk(c.Subcommands, name, f)
	}
}

// App is a program of commands.
type App struct {
	*cli.App
	Commands []*Command
	// Help is what it prints as its help.
	Help Help
}

// aliasWords is the number of words of the longest alias.
const aliasWords = 2

// Aliases are the words of kubectl, crictl and docker that stand for one of the commands,
// and for which one.
func Aliases(commands []*Command) map[string]string {
	aliases := map[string]string{}
	for _, c := range commands {
		for _, alias := range c.Aliases {
			aliases[alias] = c.Name
		}
		for _, w := range c.Args.Words {
			for _, alias := range w.Aliases {
				aliases[alias] = c.Name + " " + w.Word
			}
		}
	}
	return aliases
}

// Expand replaces an alias at the beginning of words by the command that it stands for. A
// command goes before an alias.
func Expand(words []string, commands []*Command) []string {
	aliases := Aliases(commands)
	for n := min(len(words), aliasWords); n > 0; n-- {
		if n == 1 && Find(commands, words[0]) != nil {
			break
		}
		if to, known := aliases[strings.Join(words[:n], " ")]; known {
			return append(strings.Fields(to), words[n:]...)
		}
	}
	return words
}

// sortedAliases are the aliases of a command.
func (c *Command) sortedAliases() []string { return slices.Sorted(slices.Values(c.Aliases)) }

// Besides returns the shared flags that a command with flags of its own can
// have: without those whose name the command uses, and without the aliases that
// it uses.
func Besides(shared, own []cli.Flag) []cli.Flag {
	taken := FlagNames(own)
	var rest []cli.Flag
	for _, f := range shared {
		if slices.Contains(taken, f.Names()[0]) {
			continue
		}
		free := func(aliases []string) []string {
			return slices.DeleteFunc(aliases, func(name string) bool { return slices.Contains(taken, name) })
		}
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Aliases = free(f.Aliases)
		case *cli.DurationFlag:
			f.Aliases = free(f.Aliases)
		case *cli.BoolFlag:
			f.Aliases = free(f.Aliases)
		}
		rest = append(rest, f)
	}
	return rest
}
