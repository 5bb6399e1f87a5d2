package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
)

// world is a simulated runtime that outlives the podctls which come to it, in
// virtual time.
type world struct {
	t   *testing.T
	sim *sim.Runtime
	dir string
	net pipeNet
	tty bool // standard output is a terminal
}

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, sim: sim.New(sim.Options{Record: true}), dir: dir}
		test(t, w)
		w.sim.Close()
	})
}

// command is one run of podctl.
type command struct {
	t          *testing.T
	interrupts chan os.Signal
	out, errw  screen
	code       chan int
	read       int // how much of out lines has looked at
}

// screen is a buffer for several goroutines.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// start starts podctl with the world's runtime and directories.
func (w *world) start(in io.Reader, args ...string) *command { return w.startTo(nil, in, args...) }

// startTo is start with an output of its own, nil for the command's.
func (w *world) startTo(out io.Writer, in io.Reader, args ...string) *command {
	c := &command{t: w.t, interrupts: make(chan os.Signal, 4), code: make(chan int, 1)}
	level := &slog.LevelVar{}
	level.Set(slog.LevelError)
	e := &shell.Env{
		In: in, Out: &c.out, Errw: &c.errw, TTY: w.tty, Size: func() (int, int) { return 0, 0 }, Now: time.Now,
		Simulate: func() (*sim.Runtime, func()) { return w.sim, func() {} }, SimOutlives: true,
		Listen: w.net.listen, Dial: w.net.dial, Procs: proc.FS(testutil.EmptyProc(w.t)),
		Interrupts: c.interrupts, Log: slog.New(slog.NewTextHandler(&c.errw, &slog.HandlerOptions{Level: level})), Level: level,
	}
	if out != nil {
		e.Out = out
	}
	all := []string{
		"podctl", "-r", "sim:", "--root", filepath.Join(w.dir, "root"), "--log-dir", filepath.Join(w.dir, "logs"),
		"--run-dir", filepath.Join(w.dir, "run"),
	}
	go func() { c.code <- runProgram(append(all, args...), e) }()
	return c
}

// run starts `podctl run` of a manifest and gives it ten seconds.
func (w *world) run(manifest string, flags ...string) *command {
	c := w.start(strings.NewReader(manifest), append(append([]string{"run"}, flags...), "-")...)
	time.Sleep(10 * time.Second)
	return c
}

func (c *command) interrupt() { c.interrupts <- os.Interrupt }

// ends asserts the exit code, and that it ends within a time.
func (c *command) ends(code int, within time.Duration) {
	c.t.Helper()
	select {
	case got := <-c.code:
		if got != code {
			c.t.Errorf("exit code %d, want %d\n%s%s", got, code, c.out.String(), c.errw.String())
		}
	case <-time.After(within):
		c.t.Fatalf("not ended after %s\n%s%s", within, c.out.String(), c.errw.String())
	}
}

func (c *command) goesOn() {
	c.t.Helper()
	select {
	case code := <-c.code:
		c.t.Fatalf("ended with %d\n%s%s", code, c.out.String(), c.errw.String())
	default:
	}
}

func (c *command) printed(texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		if !strings.Contains(c.out.String(), text) {
			c.t.Errorf("stdout has no %q:\n%s", text, c.out.String())
		}
	}
}

func (c *command) silent() {
	c.t.Helper()
	if said := c.errw.String(); said != "" && said != "no orphans\n" {
		c.t.Errorf("stderr is not empty: %s", said)
	}
}

// holds asserts how many sandboxes the runtime has, and that without any
// nothing is left on disk either.
func (w *world) holds(pods int) {
	w.t.Helper()
	list, err := w.sim.ListPodSandbox(w.t.Context(), nil)
	if err != nil || len(list.Items) != pods {
		w.t.Errorf("the runtime holds %v, %v, want %d", list, err, pods)
	}
	for _, dir := range []string{"root/pods", "logs"} {
		left, err := os.ReadDir(filepath.Join(w.dir, dir))
		if err != nil || len(left) != pods {
			w.t.Errorf("%s holds %v, %v, want %d", dir, left, err, pods)
		}
	}
	temporary, err := filepath.Glob(filepath.Join(w.dir, "podctl-sim-*"))
	if err != nil || len(temporary) > 0 {
		w.t.Errorf("left behind: %v, %v", temporary, err)
	}
}

// file writes a file beside the world's directories.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}
