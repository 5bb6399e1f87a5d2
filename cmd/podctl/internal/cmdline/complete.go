package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Live is what a completion asks the runtime for.
type Live uint8

const (
	// Nothing is asked.
	Nothing Live = iota
	// Pods are [NAMESPACE/]POD.
	Pods
	// Targets are [NAMESPACE/]POD[/CONTAINER].
	Targets
	// CopyTargets are Targets with a colon after it, or files of this machine.
	CopyTargets
	// Containers of the pod that the words name.
	Containers
	// Namespaces of pods.
	Namespaces
	// Images of the runtime.
	Images
	// Nodes of the cluster.
	Nodes
)

// Completion is what may stand in the place of the last word.
type Completion struct {
	// Word is the text to complete. Prefix stands before each candidate in the same
	// word: --output=.
	Word, Prefix string
	// Candidates are those that begin with Word; Files and Dirs: names of files.
	Candidates  []Candidate
	Files, Dirs bool
	// Live are further candidates that the runtime knows.
	Live Live
	// Flags are the values of the flags before, by name; Arguments the arguments of
	// the command before.
	Flags     map[string]string
	Arguments []string
}

// Candidate is a word, and what it is.
type Candidate struct{ Word, Usage string }

// Completer completes command lines.
type Completer struct {
	App *cli.App
	// Topics are those of help.
	Topics []string
	// Shells are the arguments of completion.
	Shells []string
	// Values are those of flags, by the name of the value in their usage.
	Values map[string][]string
}

// Complete returns what may stand in the place of the last of the words, which are
// those after the program's name.
func (p Completer) Complete(words []string) Completion {
	if len(words) == 0 {
		words = []string{""}
	}
	c := Completion{Word: words[len(words)-1], Flags: map[string]string{}}
	at := position{flags: p.App.Flags, commands: p.App.Commands}
	waits := at.walk(words[:len(words)-1], &c)
	flag, value, assigned := strings.Cut(c.Word, "=")
	switch {
	case waits != nil:
		p.value(*waits, &c)
	case at.ended:
		// after --
	case strings.HasPrefix(c.Word, "-") && assigned:
		if d := at.flag(flag); d != nil {
			c.Prefix, c.Word = flag+"=", value
			p.value(*d, &c)
		}
	case strings.HasPrefix(c.Word, "-"):
		at.flagNames(&c)
	case len(at.commands) > 0:
		p.commandNames(at, &c)
	case at.command != nil:
		p.argument(at.command, &c)
	}
	return c
}

// position is what the words before mean.
type position struct {
	flags    []cli.Flag
	commands []*cli.Command
	command  *cli.Command
	// help: the words are those of `podctl help`. ended: a -- was given.
	help, ended bool
}

// walk reads words, and returns the flag that waits for its value.
func (at *position) walk(words []string, c *Completion) *FlagDoc {
	words = expandAfterFlags(words, at)
	for i := 0; i < len(words); i++ {
		word := words[i]
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case word == "--":
			at.ended = true
		case at.ended:
			c.Arguments = append(c.Arguments, word)
		case strings.HasPrefix(word, "-") && len(word) > 1:
			d := at.flag(name)
			switch {
			case d == nil || d.Value == "":
			case assigned:
				c.Flags[d.Name] = value
			case i+1 == len(words):
				return d
			default:
				i++
				c.Flags[d.Name] = words[i]
			}
		case len(at.commands) > 0:
			at.enter(word)
		default:
			c.Arguments = append(c.Arguments, word)
		}
	}
	return nil
}

// expandAfterFlags replaces an alias after the global flags.
func expandAfterFlags(words []string, at *position) []string {
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "-") {
			return append(slices.Clone(words[:i]), Expand(words[i:], at.commands)...)
		}
		if d := at.flag(words[i]); d != nil && d.Value != "" {
			i++
		}
	}
	return words
}

// enter goes on with a command.
func (at *position) enter(name string) {
	if at.command == nil && name == "help" {
		at.help = true
		return
	}
	i := slices.IndexFunc(at.commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		at.commands = nil
		return
	}
	at.command = at.commands[i]
	at.flags, at.commands = at.command.Flags, at.command.Subcommands
}

// flag returns the flag of a name as it is typed, nil if there is none.
func (at *position) flag(typed string) *FlagDoc {
	name, _, _ := strings.Cut(strings.TrimLeft(typed, "-"), "=")
	for _, f := range at.flags {
		if slices.Contains(f.Names(), name) {
			d := Describe(f)
			return &d
		}
	}
	return nil
}

func (at *position) flagNames(c *Completion) {
	for _, f := range append(slices.Clip(at.flags), cli.HelpFlag) {
		if d := Describe(f); strings.HasPrefix("--"+d.Name, c.Word) {
			c.Candidates = append(c.Candidates, Candidate{"--" + d.Name, d.Usage})
		}
	}
}

func (p Completer) commandNames(at position, c *Completion) {
	for _, command := range at.commands {
		if !command.Hidden {
			c.add(command.Name, command.Usage)
		}
	}
	switch {
	case at.help && at.command == nil:
		for _, topic := range p.Topics {
			c.add(topic, "topic")
		}
	case at.command == nil:
		c.add("help", "show the help of a command or topic")
	}
}

func (c *Completion) add(word, usage string) {
	if strings.HasPrefix(word, c.Word) {
		c.Candidates = append(c.Candidates, Candidate{word, usage})
	}
}

// value completes the value of a flag by its name in the usage.
func (p Completer) value(d FlagDoc, c *Completion) {
	switch {
	case d.Name == "container":
		c.Live = Containers
	case d.Value == "NAMESPACE":
		c.Live = Namespaces
	case d.Value == "NODE":
		c.Live = Nodes
	case d.Value == "ENDPOINT", strings.Contains(d.Value, "FILE"):
		c.Files = true
	case strings.Contains(d.Value, "DIR"):
		c.Dirs = true
	}
	for _, value := range p.Values[d.Value] {
		c.add(value, "")
	}
}

// argument completes an argument by the command's usage.
func (p Completer) argument(command *cli.Command, c *Completion) {
	usage, _, _ := strings.Cut(command.ArgsUsage, " -- ")
	repeats := strings.Contains(usage, "…") && !strings.Contains(usage, " [LOCAL:]") || usage == "SOURCE DESTINATION"
	if len(c.Arguments) > 0 && !repeats {
		return
	}
	// Words that the usage offers: [pods|containers] TARGET.
	if words, _, ok := strings.Cut(strings.TrimPrefix(usage, "["), "] "); ok && len(c.Arguments) == 0 && strings.ToLower(words) == words {
		for word := range strings.SplitSeq(words, "|") {
			c.add(word, "")
		}
	}
	switch {
	case usage == "SHELL":
		for _, shell := range p.Shells {
			c.add(shell, "")
		}
	case usage == "SOURCE DESTINATION":
		c.Live, c.Files = CopyTargets, true
	case strings.Contains(usage, "POD[/CONTAINER]"):
		c.Live = Targets
	case strings.Contains(usage, "POD"):
		c.Live = Pods
	case strings.Contains(usage, "IMAGE"), strings.Contains(usage, "NAME|PATTERN|ID"):
		c.Live = Images
	case strings.Contains(usage, "FILE"):
		c.Files = true
	}
}
