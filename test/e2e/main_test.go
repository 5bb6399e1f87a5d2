package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

// binary is podctl, built once.
var binary string

func TestMain(m *testing.M) {
	if socket := os.Getenv(kubeletEnv); socket != "" {
		beKubelet(socket)
	}
	dir, err := os.MkdirTemp("", "podctl-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "podctl")
	if err := live.Build(binary, "./cmd/podctl"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.RemoveAll(dir)
		os.Exit(1)
	}
	live.Main(m, func() { os.RemoveAll(dir) })
}

// process is one podctl.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}

	mu        sync.Mutex
	out, errw bytes.Buffer
}

// locked serialises writing to a buffer with reading it.
type locked struct {
	mu  *sync.Mutex
	buf *bytes.Buffer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// start starts `podctl run` with the arguments; yaml is its standard input, to
// be named by "-".
func (p *place) start(yaml string, args ...string) *process {
	p.t.Helper()
	return p.command(yaml, exec.Command(binary, append(p.flags(), append([]string{"run"}, args...)...)...))
}

// command starts any command.
func (p *place) command(yaml string, cmd *exec.Cmd) *process {
	p.t.Helper()
	proc := &process{t: p.t, cmd: cmd, done: make(chan struct{})}
	proc.cmd.Stdin = strings.NewReader(yaml)
	proc.cmd.Stdout, proc.cmd.Stderr = locked{&proc.mu, &proc.out}, locked{&proc.mu, &proc.errw}
	if err := proc.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = proc.cmd.Wait() // tests look at the exit code
		close(proc.done)
	}()
	p.t.Cleanup(func() {
		_ = proc.cmd.Process.Kill() // it has ended, if the test passes
		<-proc.done
	})
	p.started = append(p.started, proc)
	return proc
}

// run runs it to its end and returns its output and exit code.
func (p *place) run(yaml string, args ...string) (out, errw string, code int) {
	p.t.Helper()
	proc := p.start(yaml, args...)
	code = proc.wait()
	out, errw = proc.output()
	return out, errw, code
}

// stays ends the command of a container whose output a test reads: containerd 1.6 loses
// what is in the pipe of a container that exits.
const stays = `; echo "(end)"; trap "exit 0" TERM; ` + forever

// outputOf runs pods until each has printed the last line of a command that ends with
// stays, interrupts podctl, and returns what it printed.
func (p *place) outputOf(yaml string, pods int, args ...string) (out, errw string) {
	p.t.Helper()
	proc := p.start(yaml, append(args, "--logs", "-")...)
	eventually(p.t, fmt.Sprintf("%d pods have printed everything", pods), func() bool {
		out, _ := proc.output()
		return strings.Count(out, "| (end)\n") == pods
	}, func() string { out, errw := proc.output(); return out + errw })
	proc.signal(syscall.SIGINT)
	code := proc.wait()
	if out, errw = proc.output(); code != 130 {
		p.t.Errorf("exit %d\n%s%s", code, out, errw)
	}
	return out, errw
}

// timeout is how long a test waits for anything.
var timeout = live.Timeout

// wait waits for the end and returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(timeout):
		p.signal(syscall.SIGQUIT) // prints what its goroutines wait for
		<-p.done
		out, errw := p.output()
		p.t.Fatalf("podctl did not exit within %s\n%s%s", timeout, out, errw)
		return -1
	}
}

// podctl runs a command of podctl's to its end.
func (p *place) podctl(args ...string) (out, errw string, code int) {
	p.t.Helper()
	proc := p.command("", exec.Command(binary, append(p.flags(), args...)...))
	code = proc.wait()
	out, errw = proc.output()
	return out, errw, code
}

func (p *process) output() (out, errw string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String(), p.errw.String()
}

// prints waits until it has printed the text.
func (p *process) prints(text string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("podctl prints %q", text), func() bool {
		exited := false
		select {
		case <-p.done:
			exited = true
		default:
		}
		out, errw := p.output()
		if exited && !strings.Contains(out, text) {
			p.t.Fatalf("podctl exited and never printed %q\n%s%s", text, out, errw)
		}
		return strings.Contains(out, text)
	}, func() string { out, errw := p.output(); return out + errw })
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, is func() bool, explain func() string) {
	t.Helper()
	testutil.Eventually(t, timeout, what, is, explain)
}

// pod is a manifest with one container c; more goes into the spec.
func pod(name, command string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  %s
%s---
`, name, strings.Join(append(more, "containers:"), "\n  "), container("c", command))
}

// container is one in a manifest's list.
func container(name, command string) string {
	return fmt.Sprintf(`  - name: %s
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sh, -c, %q]
`, name, command)
}

// requesting is a manifest whose container requests that much cpu.
func requesting(cpu, yaml string) string {
	return strings.Replace(yaml, "    command:", "    resources: {requests: {cpu: "+cpu+"}}\n    command:", 1)
}

const criticalClass = "priorityClassName: system-node-critical"

const (
	never = "restartPolicy: Never"
	brief = "terminationGracePeriodSeconds: 2"
	// forever starts one process, and none after it. It runs the shell's traps at once.
	forever = "while true; do sleep 1d & wait; done"
	server  = `trap "exit 0" TERM; echo up; ` + forever
)
