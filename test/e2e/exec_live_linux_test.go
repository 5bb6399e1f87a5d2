package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/pty"
)

// insideCase is one rule of a command that looks inside.
type insideCase struct {
	rule string
	test func(t *testing.T, in *inside)
}

// inside is a place with pods to look into: "web" of podctl's with the containers
// c and shell, and "bare" of the CRI's, made without podctl.
type inside struct{ *place }

const webPod = `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'echo serving; trap "exit 5" TERM; mkdir /www; echo hello >/www/index.html; httpd -p 8080 -h /www; while true; do sleep 1d & wait; done']
    ports: [{name: http, containerPort: 8080}, {name: dns, containerPort: 53, protocol: UDP}]
  - name: shell
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    stdin: true
    tty: true
    command: [sh]
`

// withPods starts both pods and looks into them case by case.
func withPods(t *testing.T, cases []insideCase) {
	each(t, func(t *testing.T, rt *live.Instance) {
		in := &inside{at(t, rt)}
		agent := in.start(webPod, "-")
		in.bare(t)
		agent.prints("shell started")
		in.serves(t, "web")
		for _, c := range cases {
			t.Run(c.rule, func(t *testing.T) { c.test(t, in) })
		}
		agent.signal(syscall.SIGTERM)
		agent.wait()
	})
}

// serves waits until the server of a pod like webPod answers.
func (in *inside) serves(t *testing.T, pod string) {
	t.Helper()
	eventually(t, pod+" serves its page", func() bool {
		out, _, _ := in.does(t, "exec", pod+"/c", "--", "wget", "-qO-", "127.0.0.1:8080")
		return out == "hello\n"
	}, func() string { out, errw, _ := in.does(t, "logs", pod+"/c"); return out + errw })
}

// bare starts the pod that podctl knows nothing about.
func (in *inside) bare(t *testing.T) {
	t.Helper()
	client, err := bare.Dial(in.rt.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p, err := client.Start(t.Context(), bare.Spec{
		Name: "bare", Image: "docker.io/library/busybox:latest", Command: []string{"sleep", "600"}, LogDir: in.path("logs"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := client.Stop(ctx, p); err != nil {
			t.Error(err)
		}
		if err := client.Remove(ctx, p); err != nil {
			t.Error(err)
		}
		_ = client.Close()
		logs, _ := filepath.Glob(in.path("logs/*.log")) // of a pattern that is right
		for _, log := range logs {
			_ = os.Remove(log)
		}
	})
}

// cmd is a podctl command.
func (p *place) cmd(args ...string) *exec.Cmd {
	return exec.Command(binary, append(p.flags(), args...)...)
}

// does runs podctl to its end.
func (in *inside) does(t *testing.T, args ...string) (out, errw string, code int) {
	t.Helper()
	cmd := in.cmd(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			t.Fatal(err)
		}
	case <-time.After(timeout):
		_ = cmd.Process.Kill()
		t.Fatalf("podctl %q did not exit within %s", args, timeout)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

func (in *inside) terminal(t *testing.T, args ...string) *pty.Terminal {
	t.Helper()
	return pty.Start(t, in.cmd(args...))
}

func TestExec(t *testing.T) {
	withPods(t, []insideCase{
		{"exit code and streams are the command's", func(t *testing.T, in *inside) {
			for _, flags := range [][]string{nil, {"-i"}} {
				for _, name := range []string{"web/c", "bare"} {
					args := append(append([]string{"exec"}, flags...), name, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
					if out, errw, code := in.does(t, args...); out != "out\n" || errw != "err\n" || code != 7 {
						t.Errorf("%q: %q, %q, exit code %d", args, out, errw, code)
					}
				}
			}
		}},
		{"binary input and output are intact", func(t *testing.T, in *inside) {
			data := make([]byte, 50<<20)
			_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // never fails
			cmd, sum := in.cmd("exec", "-i", "web/c", "--", "cat"), sha256.New()
			cmd.Stdin, cmd.Stdout = bytes.NewReader(data), sum
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			if want := sha256.Sum256(data); !bytes.Equal(sum.Sum(nil), want[:]) {
				t.Error("the output differs from the input")
			}
		}},
		{"output that the runtime cannot return is an error, and streams", func(t *testing.T, in *inside) {
			const size = 20 << 20
			script := fmt.Sprintf("head -c %d /dev/zero", size)
			out, errw, code := in.does(t, "exec", "--timeout", "1m", "web/c", "--", "sh", "-c", script)
			if !strings.Contains(errw, "16 MiB") || code == 0 && len(out) == size {
				t.Errorf("%d bytes, %q, exit code %d", len(out), errw, code)
			}
			for _, flags := range [][]string{nil, {"-i"}} {
				if out, errw, code := in.does(t, append(append([]string{"exec"}, flags...), "web/c", "--", "sh", "-c", script)...); len(out) != size || code != 0 {
					t.Errorf("%q: streamed %d bytes, %q, exit code %d", flags, len(out), errw, code)
				}
			}
		}},
		{"a command that is missing is explained", func(t *testing.T, in *inside) {
			for _, flags := range [][]string{nil, {"-i"}, {"--timeout", "1m"}} {
				args := append(append([]string{"exec"}, flags...), "web/c", "--", "nosuch")
				_, errw, code := in.does(t, args...)
				if !strings.Contains(errw, `podctl: exec: default/web/c has no command "nosuch": `) || !strings.Contains(errw, "hint: podctl exec default/web/c -- sh, ") || code != 1 {
					t.Errorf("%q: %q, exit code %d", args, errw, code)
				}
			}
		}},
		{"a timeout kills the command", func(t *testing.T, in *inside) {
			_, errw, code := in.does(t, "exec", "--timeout", "1s", "web/c", "--", "sleep", "97")
			if !strings.Contains(errw, "it took longer than 1s") || code != 1 {
				t.Errorf("%q, exit code %d", errw, code)
			}
			if out, _, _ := in.does(t, "exec", "web/c", "--", "ps"); strings.Contains(out, "sleep 97") {
				t.Errorf("it still runs:\n%s", out)
			}
		}},
		{"all matches run the command, the highest exit code counts", func(t *testing.T, in *inside) {
			out, errw, code := in.does(t, "exec", "--all", "web/c", "bare", "--", "sh", "-c", `hostname; [ $(hostname) != web ] || exit 3`)
			if !strings.Contains(out, "default/web/c | web\n") || !strings.Contains(out, "default/bare/c | ") || code != 3 {
				t.Errorf("%q, %q, exit code %d", out, errw, code)
			}
		}},
		{"a terminal has the size, keys and exit code of the local one", func(t *testing.T, in *inside) {
			// A line ends with \r\r\n where one of CRI-O's two terminals is not yet raw.
			term := in.terminal(t, "exec", "-it", "web/c", "--", "sh")
			term.Until("# ")
			for got := ""; !strings.Contains(got, "24 80\r"); got = term.Until("# ") {
				term.Send("stty size\r")
			}
			term.Resize(132, 43)
			for got := ""; !strings.Contains(got, "43 132\r"); got = term.Until("# ") {
				term.Send("stty size\r")
			}
			// What is echoed has the quotes. A child that has not yet executed its
			// command ignores SIGINT as an interactive shell does: it says itself
			// that it has.
			term.Send(`sh -c "echo be''gun; exec sleep 98"` + "\r")
			term.Until("begun\r")
			term.Send(pty.CtrlC)
			term.Until("# ")
			term.Send("exit 9\r")
			if code := term.Wait(); code != 9 || term.Mode() != pty.Normal {
				t.Errorf("exit code %d, %v\n%s", code, term.Mode(), term.Output())
			}
		}},
		{"detach keys end podctl and restore the terminal", func(t *testing.T, in *inside) {
			term := in.terminal(t, "exec", "-it", "web/c", "--", "sh", "-c", "echo here; sleep 96")
			term.Until("here")
			term.Send(pty.CtrlP + pty.CtrlQ)
			term.Until("detached from default/web/c")
			if code := term.Wait(); code != 0 || term.Mode() != pty.Normal {
				t.Errorf("exit code %d, %v", code, term.Mode())
			}
		}},
		{"a signal restores the terminal", func(t *testing.T, in *inside) {
			term := in.terminal(t, "exec", "-it", "web/c", "--", "sh")
			term.Until("# ")
			term.Signal(syscall.SIGTERM)
			if code := term.Wait(); code != 130 || term.Mode() != pty.Normal {
				t.Errorf("exit code %d, %v", code, term.Mode())
			}
		}},
		{"Ctrl-C ends a command without a terminal", func(t *testing.T, in *inside) {
			for _, flags := range [][]string{nil, {"-i"}} {
				term := in.terminal(t, append(append([]string{"exec"}, flags...), "web/c", "--", "sh", "-c", "touch /tmp/up; sleep 95")...)
				eventually(t, "the command runs", func() bool {
					_, _, code := in.does(t, "exec", "web/c", "--", "rm", "/tmp/up")
					return code == 0
				}, term.Output)
				start := time.Now()
				term.Send(pty.CtrlC)
				if code := term.Wait(); code != 130 {
					t.Errorf("%q: exit code %d after %s", flags, code, time.Since(start))
				}
			}
		}},
		{"without --tty a terminal shows no escapes of the container", func(t *testing.T, in *inside) {
			term := in.terminal(t, "exec", "web/c", "--", "printf", `a\033]0;title\007b\n`)
			term.Wait()
			if out := term.Output(); strings.Contains(out, "\x1b]") || !strings.Contains(out, "b\r\n") {
				t.Errorf("%q", out)
			}
			if out, _, _ := in.does(t, "exec", "web/c", "--", "printf", `a\033]0;title\007b\n`); out != "a\x1b]0;title\x07b\n" {
				t.Errorf("a pipe got %q", out)
			}
		}},
		{"a terminal that is none is said to be", func(t *testing.T, in *inside) {
			out, errw, code := in.does(t, "exec", "-it", "web/c", "--", "echo", "x")
			if out != "x\n" || !strings.Contains(errw, "--tty has no effect") || code != 0 {
				t.Errorf("%q, %q, exit code %d", out, errw, code)
			}
		}},
	})
}
