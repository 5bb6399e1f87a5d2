package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/pty"
)

// attachPod has a container that writes a line for each line that it reads, and
// exits with 6 a second after "end": containerd detaches the standard output as soon
// as the standard error has ended, and loses what it has not copied by then.
const attachPod = `
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    stdin: true
    command: [sh, -c, 'echo first; while read line; do echo "read $line"; [ "$line" != end ] || { sleep 1; exit 6; }; done']
  - name: stays # the pod is not removed while attach reads how c ended
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sleep, "600"]
---
`

func TestAttach(t *testing.T) {
	withPods(t, []insideCase{
		{"keys and size reach the first process, the detach keys leave it", func(t *testing.T, in *inside) {
			for range 2 { // it still runs
				term := in.terminal(t, "attach", "-it", "web/shell")
				term.Until("attached to default/web/shell, started ")
				term.Until("earlier output: podctl logs default/web/shell; detach: ctrl-p,ctrl-q\r\n")
				for got := ""; !strings.Contains(got, "24 80\r\n"); got = term.Until("# ") {
					term.Send("stty size\r")
				}
				term.Send("echo $((40+2))\r")
				term.Until("42\r\n")
				term.Send(pty.CtrlP + pty.CtrlQ)
				term.Until("detached from default/web/shell; the container keeps running")
				if code := term.Wait(); code != 0 || term.Mode() != pty.Normal {
					t.Errorf("exit code %d, %v", code, term.Mode())
				}
			}
		}},
		{"Ctrl-C without a terminal leaves the container", func(t *testing.T, in *inside) {
			term := in.terminal(t, "attach", "web/c")
			term.Until("attached to default/web/c")
			term.Send(pty.CtrlC)
			if code := term.Wait(); code != 130 {
				t.Errorf("exit code %d", code)
			}
		}},
		{"input for a container without one is refused", func(t *testing.T, in *inside) {
			_, errw, code := in.does(t, "attach", "-i", "bare")
			if !strings.Contains(errw, "container default/bare/c has no standard input") || code != 1 {
				t.Errorf("%q, exit code %d", errw, code)
			}
		}},
		{"the exit code is the container's", func(t *testing.T, in *inside) {
			run := in.start(attachPod, "-")
			run.prints("c started")
			eventually(t, "the first line is written", func() bool { out, _, _ := in.does(t, "logs", "reader/c"); return out == "first\n" },
				func() string { out, errw := run.output(); return out + errw })
			cmd := in.cmd("attach", "-i", "reader/c")
			cmd.Stdin = strings.NewReader("one\nend\n")
			var out, errw bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errw
			_ = cmd.Run() // the exit code is asserted
			if code := cmd.ProcessState.ExitCode(); out.String() != "read one\nread end\n" || code != 6 {
				t.Errorf("%q, %q, exit code %d", out.String(), errw.String(), code)
			}
			run.signal(syscall.SIGTERM)
			run.wait()
		}},
	})
}

// forwards starts podctl port-forward and returns the address of the first port.
func (in *inside) forwards(t *testing.T, args ...string) (p *process, address string) {
	t.Helper()
	p = in.command("", in.cmd(append([]string{"port-forward"}, args...)...))
	p.prints(" -> default/")
	out, _ := p.output()
	return p, strings.Fields(out)[0]
}

// page reads the page that the pod serves.
func page(address string) (string, error) {
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address + "/")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestPortForward(t *testing.T) {
	withPods(t, []insideCase{
		{"several ports, by number and name, many connections at once", func(t *testing.T, in *inside) {
			p, _ := in.forwards(t, "web", ":8080", ":http", "--address", "127.0.0.1")
			p.prints("(http)")
			out, _ := p.output()
			var addresses []string
			for line := range strings.Lines(out) {
				addresses = append(addresses, strings.Fields(line)[0])
			}
			if len(addresses) != 2 {
				t.Fatalf("%q", out)
			}
			var asking sync.WaitGroup
			for i := range 40 {
				asking.Go(func() {
					if body, err := page(addresses[i%2]); err != nil || body != "hello\n" {
						t.Errorf("%q, %v", body, err)
					}
				})
			}
			asking.Wait()
			p.signal(syscall.SIGINT)
			if code := p.wait(); code != 130 {
				t.Errorf("exit code %d", code)
			}
			if _, err := net.Dial("tcp", addresses[0]); err == nil {
				t.Error("the listener is open")
			}
		}},
		{"a refused connection is reported and not the end", func(t *testing.T, in *inside) {
			p, address := in.forwards(t, "bare", ":9", "--address", "127.0.0.1")
			for range 2 {
				if body, err := page(address); err == nil {
					t.Errorf("%q", body)
				}
			}
			eventually(t, "podctl reports both", func() bool {
				_, errw := p.output()
				return strings.Count(errw, "connection at "+address+" failed: port 9: ") == 2
			}, func() string { _, errw := p.output(); return errw })
			p.signal(syscall.SIGINT)
			p.wait()
		}},
		{"a container may restart, and a replaced pod is found again", func(t *testing.T, in *inside) {
			yaml := strings.ReplaceAll(webPod, "name: web,", "name: other,")
			first := in.start(yaml, "-")
			first.prints("shell started")
			in.serves(t, "other")
			p, address := in.forwards(t, "other", ":http", "--address", "127.0.0.1")
			if body, err := page(address); err != nil || body != "hello\n" {
				t.Errorf("%q, %v", body, err)
			}
			if _, errw, code := in.does(t, "exec", "other/c", "--", "kill", "1"); code > 1 && code != 137 { // it may be gone before it has answered
				t.Errorf("exit code %d, %q", code, errw)
			}
			first.prints("c exited 5")
			eventually(t, "the restarted container answers", func() bool { body, _ := page(address); return body == "hello\n" }, func() string { _, errw := p.output(); return errw })
			if _, errw := p.output(); strings.Contains(errw, "was replaced") {
				t.Errorf("%q", errw)
			}
			first.signal(syscall.SIGTERM)
			first.wait()
			second := in.start(yaml, "-")
			second.prints("shell started")
			eventually(t, "the successor answers", func() bool { body, _ := page(address); return body == "hello\n" }, func() string { _, errw := p.output(); return errw })
			eventually(t, "it says that its pod was replaced", func() bool {
				_, errw := p.output()
				return strings.Contains(errw, "default/other was replaced: new connections go to its successor\n")
			}, func() string { _, errw := p.output(); return errw })
			p.signal(syscall.SIGINT)
			p.wait()
			second.signal(syscall.SIGTERM)
			second.wait()
		}},
		{"UDP is refused by name and by number", func(t *testing.T, in *inside) {
			for port, want := range map[string]int{"dns": 1, "53/udp": 2} {
				if _, errw, code := in.does(t, "port-forward", "web", port); !strings.Contains(errw, "UDP") || code != want {
					t.Errorf("%s: %q, exit code %d", port, errw, code)
				}
			}
		}},
	})
}

// hasOpen reports whether the process has a file below dir open.
func (p *process) hasOpen(dir string) bool {
	p.t.Helper()
	return slices.ContainsFunc(glob(p.t, fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid)), func(fd string) bool {
		file, err := os.Readlink(fd)
		return err == nil && strings.HasPrefix(file, dir+"/")
	})
}

// What runs in a container through a runtime that is killed ends with an error.
func TestKilledRuntimeEndsStreams(t *testing.T) {
	for _, kind := range live.Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rt := live.Runtime(t, kind, live.Private())
			in := &inside{makePlace(t, rt)}
			in.bare(t)
			var began []*process
			for i, args := range [][]string{
				{"exec", "bare", "--", "sh", "-c", "touch /tmp/up0; sleep 94"},
				{"exec", "-i", "bare", "--", "sh", "-c", "touch /tmp/up1; sleep 93"},
			} {
				began = append(began, in.command("", in.cmd(args...)))
				eventually(t, "the command runs", func() bool {
					_, _, code := in.does(t, "exec", "bare", "--", "test", "-e", fmt.Sprintf("/tmp/up%d", i))
					return code == 0
				}, func() string { _, errw := began[i].output(); return errw })
			}
			follow := in.command("", in.cmd("logs", "-f", "bare"))
			eventually(t, "the log is open", func() bool { return follow.hasOpen(in.path("logs")) }, func() string { _, errw := follow.output(); return errw })
			left := in.terminal(t, "exec", "-it", "bare", "--", "sh")
			left.Until("# ")
			rt.Signal(t, syscall.SIGSTOP) // the detach keys need no runtime
			left.Send(pty.CtrlP + pty.CtrlQ)
			if code := left.Wait(); code != 0 || left.Mode() != pty.Normal {
				t.Errorf("detached: exit code %d, %v", code, left.Mode())
			}
			rt.Signal(t, syscall.SIGCONT)
			term := in.terminal(t, "exec", "-it", "bare", "--", "sh")
			term.Until("# ")
			rt.Kill(t)
			for _, p := range began {
				code := p.wait()
				if _, errw := p.output(); code != 1 && code != 3 || !strings.Contains(errw, "podctl: exec: ") {
					t.Errorf("exit code %d, %q", code, errw)
				}
			}
			if code := term.Wait(); code != 1 || term.Mode() != pty.Normal {
				t.Errorf("terminal: exit code %d, %v\n%s", code, term.Mode(), term.Output())
			}
			eventually(t, "what is followed is said", func() bool { _, errw := follow.output(); return strings.Contains(errw, "restarts are not followed") },
				func() string { _, errw := follow.output(); return errw })
			follow.signal(syscall.SIGINT)
			if code := follow.wait(); code != 0 {
				t.Errorf("logs -f: exit code %d", code)
			}
			rt.Start(t)
		})
	}
}
