package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

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
