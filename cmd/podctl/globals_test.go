package main

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
)

// parse is what a command reads of a command line.
func parse(t *testing.T, args ...string) shell.Globals {
	t.Helper()
	var got shell.Globals
	app := newApp(&shell.Env{Out: io.Discard, Errw: io.Discard})
	cmdline.Find(app.Commands, "validate").Action = func(c *cli.Context) error {
		got = shell.ReadGlobals(c)
		return nil
	}
	if err := app.Run(append([]string{"podctl"}, args...)); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestGlobalFlagsStandOnEitherSideOfTheCommand(t *testing.T) {
	flags := []string{"-r", "/cri", "-i", "/image", "--timeout", "3s", "--root", "/root", "--log-dir", "/logs", "--run-dir", "/run", "-o", "json", "--no-color"}
	want := shell.Globals{
		Runtime: "/cri", Image: "/image", Timeout: 3 * time.Second, Root: "/root", LogDir: "/logs", RunDir: "/run",
		Output: "json", NoColor: true,
	}
	if got := parse(t, append(flags, "validate", "x")...); got != want {
		t.Errorf("before: %+v", got)
	}
	if got := parse(t, append(append([]string{"validate"}, flags...), "x")...); got != want {
		t.Errorf("after: %+v", got)
	}
	if got := parse(t, "-r", "/before", "--root=/kept", "validate", "-r", "/after", "x"); got.Runtime != "/after" || got.Root != "/kept" {
		t.Errorf("both: %+v", got)
	}
}

func TestAFlagWinsOverItsVariable(t *testing.T) {
	for name, value := range map[string]string{
		"RUNTIME_ENDPOINT": "/cri", "IMAGE_ENDPOINT": "/image", "TIMEOUT": "3s", "ROOT": "/root", "LOG_DIR": "/logs",
		"RUN_DIR": "/run", "OUTPUT": "json", "NO_COLOR": "true",
	} {
		t.Setenv("PODCTL_"+name, value)
	}
	want := shell.Globals{
		Runtime: "/cri", Image: "/image", Timeout: 3 * time.Second, Root: "/root", LogDir: "/logs", RunDir: "/run",
		Output: "json", NoColor: true,
	}
	if got := parse(t, "validate", "x"); got != want {
		t.Errorf("variables: %+v", got)
	}
	if got := parse(t, "-r", "/flag", "validate", "x"); got.Runtime != "/flag" {
		t.Errorf("before the command: %+v", got)
	}
	if got := parse(t, "validate", "-r", "/flag", "--no-color=false", "x"); got.Runtime != "/flag" || got.NoColor {
		t.Errorf("after the command: %+v", got)
	}
}

// Every flag is described, and what the help says of it is what it is.
func TestHelpNamesEveryFlag(t *testing.T) {
	app := newApp(&shell.Env{Out: io.Discard, Errw: io.Discard, Simulate: func() (*sim.Runtime, func()) { return nil, nil }})
	cmdline.Walk(app.Commands, func(name string, c *cmdline.Command) {
		var help strings.Builder
		app.PrintHelp(&help, "podctl "+name)
		for _, f := range c.AllFlags() {
			d := cmdline.Describe(f)
			if d.Usage == "" || !strings.Contains(help.String(), "--"+d.Name) {
				t.Errorf("podctl %s --help does not describe --%s", name, d.Name)
			}
			if strings.Contains(d.Usage, "`") || strings.HasSuffix(d.Usage, ".") {
				t.Errorf("--%s: %q", d.Name, d.Usage)
			}
		}
	})
}

// What the library has once for all apps is read by them at the same time.
func TestAppsRunAtTheSameTime(t *testing.T) {
	var apps sync.WaitGroup
	for _, line := range []string{"help", "pods --help", "--version", "options", "help logs"} {
		apps.Go(func() {
			e := shell.NewEnv(nil)
			e.Out, e.Errw = io.Discard, io.Discard
			if code := runProgram(append([]string{"podctl"}, strings.Fields(line)...), e); code != shell.ExitOK {
				t.Errorf("podctl %s: exit code %d", line, code)
			}
		})
	}
	apps.Wait()
}
