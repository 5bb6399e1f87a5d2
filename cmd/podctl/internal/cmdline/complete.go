package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Live is what a completion asks the runtime for.
type Live uint8

const (
	// NoQuestion: nothing is asked.
	NoQuestion Live = iota
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
	App *App
	// Topics are those of help.
	Topics []string
	// Properties are what a word may begin with that names a pod by a property: pid:.
	Properties []string
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
		at.command.Args.complete(&c)
		if c.Word != "" && (c.Live == Pods || c.Live == Targets || c.Live == CopyTargets) {
			for _, word := range p.Properties {
				c.add(word, "a property of a pod")
			}
		}
	}
	return c
}

// position is what the words before mean.
type position struct {
	flags    []cli.Flag
	commands []*Command
	command  *Command
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
	c := Find(at.commands, name)
	if c == nil {
		at.commands = nil
		return
	}
	at.command, at.flags, at.commands = c, c.AllFlags(), c.Subcommands
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

// live is what the runtime is asked for, to complete an argument.
var live = [...]Live{Pod: Pods, Target: Targets, SourceDestination: CopyTargets, Image: Images, StoredImage: Images, Anything: NoQuestion}

// complete completes the argument that follows those in c.
func (a Args) complete(c *Completion) {
	if len(c.Arguments) > 0 && !a.Many && a.Of != SourceDestination {
		return
	}
	if len(c.Arguments) == 0 {
		for _, w := range a.Words {
			c.add(w.Word, "")
		}
	}
	c.Live = live[a.Of]
	c.Files = a.Of == Manifest || a.Of == File || a.Of == Text || a.Of == SourceDestination
	c.Dirs = a.Of == Dir
}
