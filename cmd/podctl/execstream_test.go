package main

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/simpod"
	"github.com/podctl/podctl/testkit/testutil"
)

// The output of a command that does not end is seen as it comes, in a pipe, too. Streams are
// connections of the network, for which virtual time does not wait.
func TestExecPrintsOutputAsItComes(t *testing.T) {
	dir := t.TempDir()
	runtime := sim.New(sim.Options{})
	simpod.Run(t, runtime, "default", "web").Start("web", "sleep", "3600")
	l, err := net.Listen("unix", dir+"/cri.sock")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- runtime.Serve(l) }()
	defer func() { _ = l.Close(); <-served; runtime.Close() }()
	r, out := io.Pipe()
	level := &slog.LevelVar{}
	e := &shell.Env{
		In: strings.NewReader(""), Out: out, Errw: io.Discard, Size: func() (int, int) { return 0, 0 }, Now: time.Now, Dial: new(pipeNet).dial,
		Procs: proc.FS(testutil.EmptyProc(t)), Interrupts: make(chan os.Signal, 1), Log: slog.New(slog.DiscardHandler), Level: level,
	}
	interrupts := make(chan os.Signal, 1)
	e.Interrupts = interrupts
	code := make(chan int, 1)
	go func() {
		code <- runProgram([]string{"podctl", "-r", "unix://" + dir + "/cri.sock", "--root", dir, "--log-dir", dir, "--run-dir", dir + "/run", "exec", "web", "--", "sh", "-c", "echo first; sleep 1000"}, e)
	}()
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || line != "first\n" {
		t.Errorf("%q, %v", line, err)
	}
	interrupts <- os.Interrupt
	if got := <-code; got != shell.ExitInterrupted {
		t.Errorf("exit code %d", got)
	}
}

// A runtime without streams, or whose streams are out of reach, runs the command all the same.
func TestExecWithoutStreams(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("web", "sleep", "3600")
		w.sim.Inject(`method=Exec nth=1 error=Unimplemented message="unknown method Exec"`)
		c := w.start(nil, "exec", "web", "--", "sh", "-c", "echo out; exit 7")
		c.ends(7, time.Second)
		c.printed("out\n")
		w.sim.Inject(`method=Exec nth=1 error=Unimplemented message="unknown method Exec"`)
		w.start(strings.NewReader(""), "exec", "-i", "web", "--", "true").ends(shell.ExitFailed, time.Second)
	})
}
