package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// crictlCommands are those of `crictl --help`, cri-tools 1.34 and 1.36.
const crictlCommands = `attach checkpoint completion config create event events exec help image imagefsinfo images img info inspect inspecti inspectp
logs metricdescs metricsp pods port-forward ps pull rm rmi rmp run runp runtime-config start stats statsp stop stopp update update-runtime-config version`

// Every command of crictl has a row, and every podctl command in the page exists.
func TestTheTableOfCrictlIsComplete(t *testing.T) {
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

// What an alias stands for exists.
func TestAliasesStandForExistingCommands(t *testing.T) {
	app := newApp(&shell.Env{Out: io.Discard, Errw: io.Discard})
	for alias := range cmdline.Aliases(app.Commands) {
		words := strings.Fields(alias)
		expanded := cmdline.Expand(words, app.Commands)
		if slices.Equal(expanded, words) || cmdline.Find(app.Commands, expanded[0]) == nil {
			t.Errorf("%q stands for nothing", alias)
		}
	}
}
