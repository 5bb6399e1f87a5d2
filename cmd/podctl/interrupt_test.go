package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
)

// server ends two seconds after it was asked to; deaf only when it is killed.
const (
	server = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, image: busybox, command: [sh, -c, "trap 'sleep 2; exit 0' TERM; sleep 3600 & wait"]}
`
	deaf = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, image: busybox, command: [sleep, "3600"]}
`
)

func TestFirstInterruptTerminatesGracefully(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(server)
		c.interrupt()
		c.ends(shell.ExitInterrupted, 5*time.Second)
		c.printed("runs until Ctrl-C", "terminating 1 pod, up to 30s · Ctrl-C again to force", "web exited 0 after 12")
		c.silent()
		w.holds(0)
	})
}

func TestSecondInterruptForces(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(deaf)
		c.interrupt()
		time.Sleep(5 * time.Second)
		c.goesOn()
		c.interrupt()
		c.ends(shell.ExitInterrupted, 5*time.Second)
		c.printed("forcing · Ctrl-C again to leave the pods behind", "web exited 137")
		c.silent()
		w.holds(0)
	})
}

func TestThirdInterruptLeavesThePods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.sim.Inject("method=StopContainer hang")
		c := w.run(deaf)
		for range 2 {
			c.interrupt()
			time.Sleep(10 * time.Second)
			c.goesOn()
		}
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Second)
		want := "podctl: run: interrupted while terminating: 1 pod left behind\n  hint: the same command again terminates them, and starts new ones\n"
		if got := c.errw.String(); got != want {
			t.Errorf("stderr %q, want %q", got, want)
		}
		w.holds(1)

		release()
		c = w.run(deaf, "--wait=ready")
		c.printed("it stops, and then starts again", "nothing of the pod runs any more", " started", "all containers are ready")
		c.interrupt()
		c.ends(shell.ExitOK, 5*time.Second)
		w.holds(0)
	})
}

func TestInterruptWithKeepLeavesThePodsToALaterRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(server, "--keep")
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Second)
		c.printed("leaving 1 pod running: no probes and no restarts")
		w.holds(1)

		c = w.run(server)
		c.printed("the runtime already holds the pod: it continues")
		c.interrupt()
		c.ends(shell.ExitInterrupted, 5*time.Second)
		c.printed("web exited 0 after 2") // twice ten seconds, and two to end
		c.silent()
		w.holds(0)
	})
}

// A pod that was ready is a success, however it had to be ended.
func TestInterruptAfterTheWaitForcesTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(deaf, "--wait=ready")
		c.printed("all containers are ready", "terminating 1 pod")
		c.goesOn()
		c.interrupt()
		c.ends(shell.ExitOK, 5*time.Second)
		c.printed("forcing")
		c.silent()
		w.holds(0)
	})
}

func TestGracePeriodFlagShortensThePodsOwn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(deaf, "--grace-period=3")
		c.interrupt()
		c.ends(shell.ExitInterrupted, 6*time.Second)
		c.printed("terminating 1 pod, up to 3s", "web exited 137 after 13")
		w.holds(0)
	})
}

func TestInterruptWhileTheManifestIsRead(t *testing.T) {
	for _, args := range [][]string{{"run", "-"}, {"validate", "-"}, {"render", "-"}} {
		t.Run(args[0], func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				in, never := io.Pipe()
				c := w.start(in, args...)
				synctest.Wait()
				c.goesOn()
				c.interrupt()
				c.ends(shell.ExitInterrupted, time.Second)
				c.silent()
				never.Close() // the read goes on until there is something
			})
		})
	}
}

func TestInterruptWhileTheRuntimeIsSilent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sim.Inject("method=Version hang")()
		c := w.start(nil, "run", writeFile(t, deaf))
		time.Sleep(time.Second)
		c.goesOn()
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Second)
		c.silent()
	})
}

// A pod that was never listed has not succeeded.
func TestTimeIsUpBeforeThePodWasLetIn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sim.Inject("method=ListPodSandbox hang")()
		c := w.start(nil, "run", "--wait-timeout=5s", writeFile(t, deaf))
		c.ends(shell.ExitFailed, 6*time.Second)
		if said := c.errw.String(); !strings.Contains(said, "default/web was not started") {
			t.Errorf("stderr: %q", said)
		}
	})
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := t.TempDir() + "/pod.yaml"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every command that asks a runtime or a podctl process ends at the first
// interrupt, although neither answers.
func TestInterruptEndsACommandWhileACallHangs(t *testing.T) {
	for name, args := range map[string][]string{
		"pods": {"pods"}, "pods wide": {"pods", "-o", "wide"}, "pods watch": {"pods", "-w"}, "terminating": {"terminating"},
		"orphans": {"orphans"}, "orphans --kill": {"orphans", "--kill"}, "stop": {"stop", "web"}, "rm": {"rm", "web"},
		"rm --force": {"rm", "--force", "web"}, "start": {"start", "web"}, "restart": {"restart", "web"}, "pleg check": {"pleg", "check"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, hangs := range []string{"runtime", "podctl"} {
				inWorld(t, func(t *testing.T, w *world) {
					hung := w.hungPodctl()
					defer hung()
					if hangs == "runtime" {
						defer w.sim.Inject("method=* hang")()
					}
					c := w.start(strings.NewReader(deaf), args...)
					time.Sleep(500 * time.Millisecond)
					select {
					case <-c.code: // it asks neither
						return
					default:
					}
					c.interrupt()
					select {
					case <-c.code:
					case <-time.After(time.Second):
						t.Errorf("while the %s hangs: not ended within a second", hangs)
						<-c.code
					}
				})
			}
		})
	}
}

// hungPodctl is a living podctl process on the world's runtime that accepts no
// connection.
func (w *world) hungPodctl() (close func()) {
	dir := host.Paths{Locks: filepath.Join(w.dir, "run")}.ForRuntime(cri.SimEndpoint).Locks
	locks, err := owner.Open(dir, "agent", proc.Default)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := w.net.listen(dir, "agent")
	if err != nil {
		w.t.Fatal(err)
	}
	return func() { _, _ = l.Close(), locks.Close() }
}
