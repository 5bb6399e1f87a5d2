//go:build pages

package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

var (
	// typed is a command line in a block of a page, and quoted is one within a sentence.
	typed  = regexp.MustCompile(`(?m)^ {4,}(?:\$ )?(?:bin/)?((?:kubectl )?podctl [^\n]*)$`)
	quoted = regexp.MustCompile("`((?:kubectl )?podctl [^`]*)`")
	// word is a word of a command line, with quotes; ends is what ends a command.
	word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	ends = regexp.MustCompile(`^(?:#.*|[|&;<>].*)$`)
)

// Every command line of a page names a command and options that podctl has. No command
// is run. That a text beside a command is a comment is checked as well: what is typed as
// it stands has no further arguments.
func TestPagesCommandLinesParse(t *testing.T) {
	checked := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "examples/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			now, _, _ := strings.Cut(string(text), "\nEarlier builds had, and it does not:\n") // of the CHANGELOG
			for _, found := range append(typed.FindAllStringSubmatch(now, -1), quoted.FindAllStringSubmatch(now, -1)...) {
				line := found[1]
				words, ok := commandWords(line)
				if !ok {
					continue
				}
				checked++
				if comment := regexp.MustCompile(`\S {2,}[^#\s]`).FindString(line); comment != "" {
					t.Errorf("%s: what follows the spaces is no comment: %s", file, line)
				}
				if err := readCommandLine(words); err != nil {
					t.Errorf("%s: %s: %v", file, line, err)
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("%d command lines were found", checked)
	}
}

// commandWords splits a command line as a shell does. It is not ok for a synopsis: one
// with choices, such as FILE|DIR, or with what may be missing.
func commandWords(line string) (words []string, ok bool) {
	for _, w := range word.FindAllString(line, -1) {
		switch {
		case ends.MatchString(w):
			return words, true
		case strings.HasPrefix(w, "["), w == "COMMAND", w == "TOPIC":
			return nil, false
		case w != "…":
			words = append(words, strings.NewReplacer("'", "", `"`, "").Replace(w))
		}
	}
	return words, true
}

// readCommandLine reads a command line as podctl does, and runs nothing.
func readCommandLine(words []string) error {
	e := &shell.Env{Out: io.Discard, Errw: io.Discard, In: strings.NewReader("")}
	app := newApp(e)
	if words[0] == "kubectl" {
		words = words[1:]
		app, _ = newPluginApp(e)
	}
	cmdline.Walk(app.Commands, func(_ string, c *cmdline.Command) {
		c.Action = func(at *cli.Context) error {
			if at.NArg() == 0 { // a sentence names the command
				return nil
			}
			return c.CheckArgs(at.Args().Slice())
		}
	})
	return runApp(app, words)
}

func TestPagesNameEveryCommand(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range newApp(&shell.Env{Out: io.Discard, Errw: io.Discard}).Commands {
		if !c.Hidden && !regexp.MustCompile("(?m)^\\| [^|]*`(?:podctl )?"+c.Name+"\\b").Match(text) {
			t.Errorf("docs/commands.md does not name podctl %s", c.Name)
		}
	}
}

// crictlCommands are those of `crictl --help`, cri-tools 1.34 and 1.36.
const crictlCommands = `attach checkpoint completion config create event events exec help image imagefsinfo images img info inspect inspecti inspectp
logs metricdescs metricsp pods port-forward ps pull rm rmi rmp run runp runtime-config start stats statsp stop stopp update update-runtime-config version`

// Every command of crictl has a row, and every podctl command in the page exists.
func TestPagesCrictlTableIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/from-crictl.md")
	if err != nil {
		t.Fatal(err)
	}
	app := newApp(&shell.Env{Out: io.Discard, Errw: io.Discard})
	exists := func(words []string, commands []*cmdline.Command) bool {
		return words[0] == "help" || cmdline.Find(commands, words[0]) != nil
	}
	code := regexp.MustCompile("`([^`]+)`")
	var known []string
	_, table, _ := strings.Cut(string(page), "\n## crictl\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		for _, name := range code.FindAllStringSubmatch(cells[1], -1) {
			known = append(known, name[1])
		}
		if !strings.Contains(cells[2], "`podctl ") && strings.TrimSpace(cells[3]) == "" {
			t.Errorf("no command and no reason: %s", line)
		}
	}
	slices.Sort(known)
	want := strings.Fields(crictlCommands)
	if !slices.Equal(known, want) {
		t.Errorf("the table has\n%q\ncrictl has\n%q", known, want)
	}
	for _, name := range want {
		isKnown := exists(cmdline.Expand([]string{name}, app.Commands), app.Commands)
		if !isKnown && cmdline.ForeignCommands[name] == "" {
			t.Errorf("podctl %s has no hint", name)
		}
	}
	for _, command := range code.FindAllStringSubmatch(string(page), -1) {
		words, isPodctl := strings.CutPrefix(command[1], "podctl ")
		if isPodctl && !exists(cmdline.Expand(strings.Fields(words), app.Commands), app.Commands) {
			t.Errorf("there is no %s", command[0])
		}
	}
}
