package main

import (
	"cmp"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/suggest"
)

// topics explain what concerns several commands. The first line of each is its title.
//
//go:embed topics/*.txt
var topics embed.FS

// topicNames are the names of the topics, sorted.
func topicNames() []string {
	files, err := topics.ReadDir("topics")
	if err != nil {
		return nil // the directory is embedded
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}

// topic returns the text of a topic. What the program knows is added to it.
func topic(name string) (string, bool) {
	text, err := topics.ReadFile(path.Join("topics", name+".txt"))
	if err != nil {
		return "", false
	}
	var b strings.Builder
	b.Write(text)
	switch name {
	case "exit-codes":
		for _, c := range shell.ExitCodes {
			fmt.Fprintf(&b, "  %3d  %s\n", c.Code, c.Meaning)
		}
	case "environment":
		for _, f := range shell.GlobalFlags() {
			d := cmdline.Describe(f)
			fmt.Fprintf(&b, "  %-24s  --%s\n", d.Env, d.Name)
		}
	}
	return b.String(), true
}

// helpPages makes the help of all commands, on the terminal and as man pages.
func helpPages() cmdline.Help {
	return cmdline.Help{Globals: shell.GlobalFlags, ExitCodes: shell.ExitCodes, Topics: topicNames()}
}

// help is `podctl help COMMAND` and `podctl help TOPIC`.
func help(c *cli.Context, words []string) error {
	if text, ok := topic(words[0]); ok && len(words) == 1 {
		_, err := fmt.Fprint(c.App.Writer, text)
		return err
	}
	return showHelp(c, "podctl", c.App.Commands, cmdline.Expand(words, c.App.Commands))
}

// showHelp prints the help of a command: words are its full name.
func showHelp(c *cli.Context, parent string, commands []*cli.Command, words []string) error {
	i := slices.IndexFunc(commands, func(sub *cli.Command) bool { return sub.Name == words[0] })
	switch {
	case i < 0 && parent == "podctl":
		return unknownTopic(commands, words[0])
	case i < 0:
		return unknownCommand(parent, commands, words[0])
	case len(words) > 1 && len(commands[i].Subcommands) > 0:
		return showHelp(c, parent+" "+words[0], commands[i].Subcommands, words[1:])
	}
	cli.HelpPrinter(c.App.Writer, "", commands[i])
	return nil
}

// unknownTopic suggests a command or topic.
func unknownTopic(commands []*cli.Command, name string) error {
	known := topicNames()
	for _, c := range commands {
		known = append(known, c.Name)
	}
	hint := cmp.Or(cmdline.ForeignCommands[name], "topics: "+strings.Join(topicNames(), ", ")+"; podctl help lists the commands")
	if near := suggest.Word(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return &shell.UsageError{Message: fmt.Sprintf("unknown command or topic %q", name), Advice: hint}
}
