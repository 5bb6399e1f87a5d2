package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Argument is what an argument of a command names.
type Argument uint8

const (
	// Nothing: the command takes no arguments.
	Nothing Argument = iota
	// Pod is [NAMESPACE/]POD.
	Pod
	// Target is [NAMESPACE/]POD[/CONTAINER].
	Target
	// SourceDestination are two places: a file of this machine, and one in a container.
	SourceDestination
	// Manifest is a file, directory or URL of manifests; - is standard input.
	Manifest
	// File is a file of this machine; - is standard input or output.
	File
	// Dir is a directory of this machine.
	Dir
	// Image is an image of any registry.
	Image
	// StoredImage is an image of the runtime: a name, a pattern or an id.
	StoredImage
	// Word is one of Args.Words.
	Word
	// Text is an error text, or a file of this machine; - is standard input.
	Text
	// Anything is a word of the user's.
	Anything
)

// synopses are the arguments as the usage shows them.
var synopses = [...]string{
	Nothing: "", Pod: "[NAMESPACE/]POD", Target: "[NAMESPACE/]POD[/CONTAINER]", SourceDestination: "SOURCE DESTINATION",
	Manifest: "FILE|DIR|URL|-", File: "FILE|-", Dir: "DIR", Image: "IMAGE", StoredImage: "NAME|PATTERN|ID", Word: "", Text: "TEXT|FILE|-", Anything: "WORD",
}

// Args states the arguments of a command. The usage, the completion, and the check of
// their number derive from it. The zero value is no arguments.
type Args struct {
	Of Argument
	// Optional: without an argument the command means all.
	Optional bool
	// Many: several arguments may be given.
	Many bool
	// Patterns: a pod's name may be a pattern.
	Patterns bool
	// Services: the command itself reads the names of Services, svc/NAME, which else stand for their pods.
	Services bool
	// ByName: a pod has to be named by its name, not by an id.
	ByName bool
	// Words are choices: the only argument if Of is Word, else one that may stand before
	// the others. Name is the name of the choice in the usage if Of is Word, or of a
	// subcommand if the command is no group.
	Words []Choice
	Name  string
	// Rest is what follows.
	Rest Rest
	// Bare reports whether the first argument is one after which the command line of Program
	// follows without --, as in crictl; nil for none.
	Bare func(first string) bool
	// Instead returns what to type instead of a wrong number of arguments, of which
	// unexpected is the first that is one too many; nil for no advice.
	Instead func(unexpected string) string
}

// Choice is a word that an argument can be.
type Choice struct {
	Word string
	// Aliases are words of kubectl, crictl and docker that stand for the command with
	// this word.
	Aliases []string
}

// Rest is what follows the arguments that Args.Of describes.
type Rest uint8

const (
	// NoRest: nothing follows.
	NoRest Rest = iota
	// Program is a command line after --.
	Program
	// MayProgram is a command line after --, or nothing.
	MayProgram
	// Ports are pairs of ports.
	Ports
	// Conditions are conditions of a pod and their status.
	Conditions
)

// Usage is the arguments as the help shows them: [[NAMESPACE/]POD …].
func (a Args) Usage() string {
	if a.Of == Word {
		return a.Name
	}
	usage := synopses[a.Of]
	if a.Of == Anything {
		usage = "-- " + usage
	}
	if a.Many {
		usage += " …"
	}
	if a.Optional {
		usage = "[" + usage + "]"
	}
	if len(a.Words) > 0 {
		words := make([]string, len(a.Words))
		for i, w := range a.Words {
			words[i] = w.Word
		}
		usage = "[" + strings.Join(words, "|") + "] " + usage
	}
	switch a.Rest {
	case NoRest:
	case Program:
		usage += " -- COMMAND [ARGUMENT …]"
	case MayProgram:
		usage += " [-- COMMAND [ARGUMENT …]]"
	case Ports:
		usage += " [LOCAL:]REMOTE …"
	case Conditions:
		usage += " TYPE=STATUS|TYPE- …"
	}
	return strings.TrimSpace(usage)
}

// Targets returns how many of the given arguments, the first ones, may name pods.
func (a Args) Targets(given []string) int {
	switch a.Of {
	case Pod, Target, SourceDestination:
	default:
		return 0
	}
	if i := slices.Index(given, "--"); i >= 0 && a.keepsDashes() {
		given = given[:i]
	}
	return len(given)
}

// most is the largest number of arguments, -1 for any.
func (a Args) most() int {
	switch {
	case a.Of == Nothing && a.Rest == NoRest:
		return 0
	case a.Many, a.Rest != NoRest, len(a.Words) > 0 && a.Of != Word:
		return -1
	case a.Of == SourceDestination:
		return 2
	}
	return 1
}

// ArgsError is a wrong number of arguments.
type ArgsError struct{ Message, Advice string }

func (e *ArgsError) Error() string { return e.Message }

// CheckArgs returns an *ArgsError for too many arguments, and for a file or directory that
// is missing; whether pods or images are missing depends on the flags.
func (c *Command) CheckArgs(given []string) error {
	a, first := c.Args, ""
	most := a.most()
	message := ""
	switch {
	case most >= 0 && len(given) > most:
		first = given[most]
		switch {
		case a.Of == Nothing:
			message = c.Name + " takes no arguments"
		case most == 1:
			message = fmt.Sprintf("expected one %s, got %d", a.noun(), len(given))
		}
		if a.Instead == nil { // else the advice names the argument
			message = strings.TrimSuffix(fmt.Sprintf("unexpected argument %q: %s", first, message), ": ")
		}
	case len(given) == 0 && (a.Of == File || a.Of == Dir):
		message = fmt.Sprintf("expected one %s, got 0", a.noun())
	default:
		return nil
	}
	e := &ArgsError{Message: message}
	if a.Instead != nil {
		e.Advice = a.Instead(first)
	}
	return e
}

// noun is the first alternative of the usage.
func (a Args) noun() string {
	noun, _, _ := strings.Cut(a.Usage(), "|")
	return noun
}

// keepsDashes reports whether a -- of the user's stays among the arguments.
func (a Args) keepsDashes() bool {
	return a.Rest == Program || a.Rest == MayProgram || a.Of == Anything
}

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
