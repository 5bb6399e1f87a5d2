package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// walk calls f for every command that does something itself, with its full name.
func walk(app *cmdline.App, f func(name string, c *cmdline.Command)) {
	cmdline.Walk(app.Commands, func(name string, c *cmdline.Command) {
		if len(c.Subcommands) == 0 || c.ArgsUsage() != "COMMAND" {
			f(name, c)
		}
	})
}

func TestEveryCommandIsMarkedAsChangingOrReading(t *testing.T) {
	walk(newApp(&shell.Env{Out: io.Discard, Errw: io.Discard}), func(name string, c *cmdline.Command) {
		if reflect.ValueOf(c.Effect).IsZero() {
			t.Errorf("podctl %s: neither marked as changing something nor as reading", name)
		}
	})
}

// invoked returns the names of the commands whose action a command line reached.
func invoked(t *testing.T, e *shell.Env, args ...string) (reached []string, err error) {
	t.Helper()
	e.Out, e.Errw = io.Discard, io.Discard
	app := newApp(e)
	walk(app, func(name string, c *cmdline.Command) {
		idle := *c
		idle.Action = func(*cli.Context) error { reached = append(reached, name); return nil }
		c.Action = checked(e, name, &idle)
	})
	return reached, runApp(app, append([]string{"podctl"}, args...))
}

func TestReadOnlyRefusesWhatChangesSomething(t *testing.T) {
	for _, c := range []struct {
		line    string
		refused bool
	}{
		{"stop web", true},
		{"start web", true},
		{"rm web", true},
		{"run pod.yaml", true},
		{"agent --manifests /etc/pods", true},
		{"agent --observe", false},
		{"orphans", false},
		{"orphans --kill", true},
		{"orphans --kill --rm --dry-run", false},
		{"starting", false},
		{"terminating", false},
		{"preempt -f pod.yaml", false},
		{"preempt --dry-run -f pod.yaml", false},
		{"exec web -- true", true},
		{"attach web", true},
		{"debug web", true},
		{"cp web:/etc/hosts hosts", true},
		{"port-forward web 80", true},
		{"pull busybox", true},
		{"rmi busybox", true},
		{"prune --yes", true},
		{"prune --dry-run", false},
		{"record tape", true},
		{"record -", false},
		{"logs web", false},
		{"doctor", false},
		{"pods -o json", false},
	} {
		line := append([]string{"--read-only"}, strings.Fields(c.line)...)
		reached, err := invoked(t, &shell.Env{}, line...)
		refused := errors.Is(err, shell.ErrReadOnly)
		if refused != c.refused || refused == (len(reached) > 0) {
			t.Errorf("%s: refused %v (%v), reached %v", c.line, refused, err, reached)
		}
		if refused && shell.ExitCode(err) != shell.ExitFailed {
			t.Errorf("%s: exit code %d", c.line, shell.ExitCode(err))
		}
		if reached, err := invoked(t, &shell.Env{}, strings.Fields(c.line)...); err != nil || len(reached) != 1 {
			t.Errorf("%s without --read-only: %v, %v", c.line, reached, err)
		}
	}
}

// Every command that is marked as changing is refused, whatever its flags are.
func TestReadOnlyRefusesEveryChangingCommand(t *testing.T) {
	walk(newApp(&shell.Env{Out: io.Discard, Errw: io.Discard}), func(name string, c *cmdline.Command) {
		given := cli.NewContext(nil, flag.NewFlagSet("", flag.ContinueOnError), nil)
		if _, refused := c.Effect.Refused(given); !refused {
			return
		}
		reached, err := invoked(t, &shell.Env{ReadOnly: true}, append(strings.Fields(name), "x", "y")...)
		if refused := errors.Is(err, shell.ErrReadOnly); !refused || len(reached) > 0 {
			t.Errorf("%s: %v, reached %v", name, err, reached)
		}
	})
}

func TestNoFlagRevokesAReadOnlyEnvironment(t *testing.T) {
	for _, line := range []string{"--read-only=false stop web", "stop --read-only=false web"} {
		reached, err := invoked(t, &shell.Env{ReadOnly: true}, strings.Fields(line)...)
		if refused := errors.Is(err, shell.ErrReadOnly); !refused || len(reached) > 0 {
			t.Errorf("%s: %v, reached %v", line, err, reached)
		}
	}
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "1": true, "true": true, "yes": true} {
		t.Setenv("PODCTL_READ_ONLY", value)
		if got := shell.NewEnv(nil).ReadOnly; got != want {
			t.Errorf("PODCTL_READ_ONLY=%q: %v", value, got)
		}
	}
}

func TestARefusedCommandNamesTheWayOut(t *testing.T) {
	_, err := invoked(t, &shell.Env{}, "prune", "--read-only")
	var text bytes.Buffer
	shell.PrintError(&text, err)
	const want = "podctl: prune: refused: podctl is read-only\n" +
		"  hint: --read-only or PODCTL_READ_ONLY is set: run it where neither is, or with --dry-run, which only reads\n"
	if text.String() != want {
		t.Errorf("%s", text.String())
	}
}
