package pty

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// timeout is how long Until and Wait wait.
const timeout = 3 * time.Minute

// Keys as a terminal sends them.
const (
	CtrlC = "\x03"
	CtrlD = "\x04"
	CtrlP = "\x10"
	CtrlQ = "\x11"
	Enter = "\r"
)

// Terminal is a pseudo-terminal with a command on it.
type Terminal struct {
	t       testing.TB
	cmd     *exec.Cmd
	control *os.File
	exited  chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	output  bytes.Buffer
	closed  bool // nothing more is written
	screen  vt10x.Terminal
	// read is how much of output Until has passed.
	read int
}

// Start starts the command on a terminal of 80 columns and 24 lines. The
// command is the leader of a session of its own; TERM is set.
func Start(t testing.TB, cmd *exec.Cmd) *Terminal {
	t.Helper()
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	const columns, lines = 80, 24
	control, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: columns, Rows: lines})
	if err != nil {
		t.Fatal(err)
	}
	term := &Terminal{t: t, cmd: cmd, control: control, exited: make(chan struct{}), screen: vt10x.New(vt10x.WithSize(columns, lines))}
	term.changed = sync.NewCond(&term.mu)
	read := make(chan struct{})
	go func() {
		defer close(read)
		term.receive()
	}()
	go func() {
		_ = cmd.Wait() // tests look at the exit code
		close(term.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has exited, if the test passes
		<-term.exited
		_ = control.Close() // ends receive where another process keeps the terminal
		<-read
	})
	return term
}

// receive stores what is written until nothing can be written any more.
func (t *Terminal) receive() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.control.Read(buf)
		t.mu.Lock()
		t.output.Write(buf[:n])
		_, _ = t.screen.Write(buf[:n]) // a terminal shows what it can
		t.closed = err != nil          // EIO: no process has the terminal
		t.changed.Broadcast()
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Send types the bytes.
func (t *Terminal) Send(text string) {
	t.t.Helper()
	if _, err := t.control.WriteString(text); err != nil {
		t.t.Fatal(err)
	}
}

// Resize changes the size of the terminal; the command gets SIGWINCH.
func (t *Terminal) Resize(columns, lines int) {
	t.t.Helper()
	if err := pty.Setsize(t.control, &pty.Winsize{Cols: uint16(columns), Rows: uint16(lines)}); err != nil {
		t.t.Fatal(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Resize(columns, lines)
}

// Signal sends a signal to the command alone.
func (t *Terminal) Signal(s syscall.Signal) {
	t.t.Helper()
	if err := t.cmd.Process.Signal(s); err != nil {
		t.t.Fatal(err)
	}
}

// Until waits until the text is written after what an earlier Until has found,
// and returns the output up to the end of the text.
func (t *Terminal) Until(text string) string {
	t.t.Helper()
	late := time.AfterFunc(timeout, t.changed.Broadcast)
	defer late.Stop()
	end := time.Now().Add(timeout)
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		rest := t.output.Bytes()[t.read:]
		if i := bytes.Index(rest, []byte(text)); i >= 0 {
			found := string(rest[:i+len(text)])
			t.read += len(found)
			return found
		}
		if t.closed || !time.Now().Before(end) {
			t.t.Fatalf("the terminal never showed %q (exited: %t)\n%q", text, t.closed, t.output.String())
		}
		t.changed.Wait()
	}
}

// Output returns all that was written so far, byte for byte.
func (t *Terminal) Output() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.output.String()
}

// Screen returns what the terminal shows: its lines without trailing blanks,
// and without trailing empty lines.
func (t *Terminal) Screen() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(t.screen.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Wait waits until the command has exited and all that it wrote is read, and
// returns its exit code, -1 if a signal killed it.
func (t *Terminal) Wait() int {
	t.t.Helper()
	select {
	case <-t.exited:
	case <-time.After(timeout):
		t.t.Fatalf("%s did not exit within %s\n%q", t.cmd, timeout, t.Output())
	}
	late := time.AfterFunc(timeout, t.changed.Broadcast)
	defer late.Stop()
	end := time.Now().Add(timeout)
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.closed && time.Now().Before(end) {
		t.changed.Wait()
	}
	return t.cmd.ProcessState.ExitCode()
}
