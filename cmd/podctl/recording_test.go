package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// Only commands that say so reach a recording, and no command line that changes something.
func TestCommandsOnARecording(t *testing.T) {
	const changes, other = "nothing can be changed in it", "the command does not work on a recording"
	for line, want := range map[string]string{
		"pods": "", "ps -a": "", "describe web": "", "inspect web": "", "images": "", "orphans": "", "terminating": "", "starting": "", "version": "", "preempt --dry-run -f pod.yaml": "",
		"stop web": changes, "rm web": changes, "exec web -- true": changes, "run pod.yaml": changes, "orphans --kill": changes, "pull busybox": changes, "record tape": changes,
		"logs web": other, "top": other, "events": other, "doctor": other, "report": other, "wait web --for=exit": other, "agent --observe": other, "prune --dry-run": other, "record -": other, "pleg check": other, "pleg watch": other,
	} {
		reached, err := invoked(t, &shell.Env{Now: time.Now}, append([]string{"-r", "tape:no/such/file"}, strings.Fields(line)...)...)
		opens := errors.Is(err, fs.ErrNotExist)
		if len(reached) > 0 || opens != (want == "") || !opens && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, reached %q", line, err, reached)
		}
	}
}

// podctl help recordings lists the commands that work on one.
func TestHelpListsTheCommandsOnARecording(t *testing.T) {
	var names []string
	walk(newApp(&shell.Env{Out: io.Discard, Errw: io.Discard}), func(name string, c *cmdline.Command) {
		if c.OnRecording && !c.Hidden && c.Section != "this program" || name == "version" {
			names = append(names, name)
		}
	})
	var text bytes.Buffer
	if err := runApp(newApp(&shell.Env{Out: &text, Errw: io.Discard}), []string{"podctl", "help", "recordings"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(text.String(), " "+name+",") && !strings.Contains(text.String(), " "+name+":") && !strings.Contains(text.String(), " "+name+"\n") {
			t.Errorf("podctl help recordings does not name %s", name)
		}
	}
}

// A recording may be a pipe without a writer.
func TestInterruptEndsTheReadingOfARecording(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	reached, err := invoked(t, &shell.Env{Now: time.Now, Interrupts: interrupts}, "-r", "tape:"+pipe, "pods")
	if !errors.Is(err, shell.ErrInterrupted) || len(reached) > 0 {
		t.Errorf("%v, reached %q", err, reached)
	}
	if f, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil { // the reader ends
		_ = f.Close()
	}
}
