package program

import (
	"cmp"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// topics explain what concerns several commands. The first line of each is its title.
//
//go:embed topics/*.txt
var topics embed.FS

// TopicNames are the names of the topics, sorted.
func TopicNames() []string {
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

// HelpPages makes the help of all commands, on the terminal and as man pages.
func HelpPages(app *cmdline.App) cmdline.Help {
	return cmdline.Help{Globals: shell.GlobalFlags, ExitCodes: shell.ExitCodes, Topics: TopicNames(), Commands: app.Commands}
}

// Help is `podctl help COMMAND` and `podctl help TOPIC`.
func Help(e *shell.Env, app *cmdline.App, words []string) error {
	if text, ok := topic(words[0]); ok && len(words) == 1 {
		_, err := fmt.Fprint(e.Out, text)
		return err
	}
	return showHelp(e, app, "podctl", app.Commands, cmdline.Expand(words, app.Commands))
}

// showHelp prints the help of a command: words are its full name.
func showHelp(e *shell.Env, app *cmdline.App, parent string, commands []*cmdline.Command, words []string) error {
	c := cmdline.Find(commands, words[0])
	switch {
	case c == nil && parent == "podctl":
		return unknownTopic(commands, words[0])
	case c == nil:
		return shell.UnknownCommand(parent, commands, words[0])
	case len(words) > 1 && len(c.Subcommands) > 0:
		return showHelp(e, app, parent+" "+words[0], c.Subcommands, words[1:])
	}
	return app.PrintHelp(e.Out, parent+" "+words[0])
}

// unknownTopic suggests a command or topic.
func unknownTopic(commands []*cmdline.Command, name string) error {
	known := TopicNames()
	for _, c := range commands {
		known = append(known, c.Name)
	}
	hint := cmp.Or(cmdline.ForeignCommands[name], "topics: "+strings.Join(TopicNames(), ", ")+"; podctl help lists the commands")
	if near := suggest.Word(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return &shell.UsageError{Message: fmt.Sprintf("unknown command or topic %q", name), Advice: hint}
}

// manCommand writes the man pages, for `make install`.
func manCommand(app func() *cmdline.App) *cmdline.Command {
	return &cmdline.Command{
		Name: "__man", Hidden: true,
		Usage:   "write the man pages below a directory: man1, man7",
		Args:    cmdline.Args{Of: cmdline.Dir},
		Effect:  cmdline.Changes,
		OnNodes: cmdline.Here,
		Action: func(c *cli.Context) error {
			for name, page := range ManPages(app()) {
				path := filepath.Join(c.Args().First(), "man"+name[len(name)-1:], name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// ManPages returns the man pages by file name.
func ManPages(app *cmdline.App) map[string]string {
	return cmdline.Man{
		Help: HelpPages(app), Version: shell.Version(),
		Topic: func(name string) string { text, _ := topic(name); return text },
	}.Pages(app)
}
