package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/program"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

func TestEveryCommandAndTopicHasAManPage(t *testing.T) {
	app := newApp(&shell.Env{Out: io.Discard, Errw: io.Discard})
	pages := program.ManPages(app)
	cmdline.Walk(app.Commands, func(name string, c *cmdline.Command) {
		name = "podctl-" + strings.ReplaceAll(name, " ", "-")
		page, ok := pages[name+".1"]
		if ok == c.Hidden {
			t.Errorf("%s: page %v, hidden %v", name, ok, c.Hidden)
		}
		for _, f := range c.Flags {
			if flag := `\-\-` + strings.ReplaceAll(f.Names()[0], "-", `\-`); ok && !strings.Contains(page, flag) {
				t.Errorf("%s.1 has no %s", name, flag)
			}
		}
	})
	for _, topic := range program.TopicNames() {
		if pages["podctl-"+topic+".7"] == "" {
			t.Errorf("topic %s has no page", topic)
		}
	}
	for name, page := range pages {
		for line := range strings.Lines(page) {
			if macro, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(line, ".") && !strings.Contains(".TH .SH .TP .nf .fi", macro) {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
	if again := program.ManPages(newApp(&shell.Env{Out: io.Discard, Errw: io.Discard})); again["podctl-pods.1"] != pages["podctl-pods.1"] {
		t.Error("the pages differ from run to run")
	}
}

func TestMakeInstallInstallsProgramPagesAndCompletions(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	dir := t.TempDir()
	cmd := exec.Command("make", "-C", "../..", "install", "DESTDIR="+dir, "PREFIX=/usr", "BIN="+filepath.Join(dir, "build"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{
		"bin/podctl", "share/man/man1/podctl.1", "share/man/man1/podctl-pleg-watch.1", "share/man/man7/podctl-targets.7",
		"share/bash-completion/completions/podctl", "share/zsh/site-functions/_podctl", "share/fish/vendor_completions.d/podctl.fish",
	} {
		if info, err := os.Stat(filepath.Join(dir, "usr", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// man reads them, where it is installed.
	if man, err := exec.LookPath("man"); err == nil {
		out, err := exec.Command(man, "--warnings", "-E", "UTF-8", "-l", filepath.Join(dir, "usr/share/man/man1/podctl-pods.1")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--all-namespaces") || strings.Contains(string(out), "warning:") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
