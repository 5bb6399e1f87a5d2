package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// helpOf is the help of a command, of podctl itself without one.
func helpOf(t *testing.T, command ...string) string {
	t.Helper()
	var out bytes.Buffer
	args := append(append([]string{"podctl"}, command...), "--help")
	if err := runApp(newApp(&shell.Env{Out: &out, Errw: io.Discard}), args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

func TestHelpFitsIn100Columns(t *testing.T) {
	check := func(command ...string) {
		for line := range strings.Lines(helpOf(t, command...)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("help of %q has a line of %d columns: %s", command, n, line)
			}
		}
	}
	check()
	cmdline.Walk(newApp(&shell.Env{Out: io.Discard, Errw: io.Discard}).Commands, func(name string, _ *cmdline.Command) {
		check(strings.Fields(name)...)
	})
}

func TestHelpNamesEachOptionOnce(t *testing.T) {
	for _, command := range [][]string{nil, {"pods"}, {"pleg", "watch"}} {
		for _, option := range []string{", --help ", " --version ", ", --runtime-endpoint "} {
			want := 1
			if option == " --version " && command != nil {
				want = 0
			}
			if got := strings.Count(helpOf(t, command...), option); got != want {
				t.Errorf("help of %q has%s%d times", command, option, got)
			}
		}
	}
}
