package main

import (
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// restart makes the runtime unavailable for a time.
func (w *world) restart(d time.Duration) {
	release := w.sim.Inject(`method=* error=Unavailable message="connection refused"`)
	time.Sleep(d)
	release()
}

// A runtime that is restarted ends no command that watches it.
func TestWatchingCommandsGoOnAfterARestart(t *testing.T) {
	for _, args := range [][]string{{"pods", "-w"}, {"images", "-w"}, {"terminating", "-w"}, {"top", "-w"}, {"top", "containers", "-w"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.pod("default", "web").Start("app", "sleep", "3600")
				c := w.start(nil, args...)
				time.Sleep(2500 * time.Millisecond)
				w.restart(5 * time.Second)
				before := c.out.String()
				late := w.pod("default", "late")
				late.Start("app", "sleep", "3600")
				time.Sleep(3 * time.Second)
				c.goesOn()
				if strings.Count(c.errw.String(), "warning: the runtime does not answer, and is asked again") != 1 {
					t.Errorf("stderr: %q", c.errw.String())
				}
				if args[0] == "pods" || args[0] == "top" {
					if got := strings.TrimPrefix(c.out.String(), before); !strings.Contains(got, "late") {
						t.Errorf("after the restart: %q", got)
					}
				}
				c.interrupt()
				c.ends(shell.ExitOK, time.Second)
			})
		})
	}
}

func TestWatchEndsIfTheRuntimeIsNotThereAtFirst(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject(`method=ListPodSandbox error=Unavailable message="connection refused"`)
		w.start(nil, "pods", "-w").ends(shell.ExitUnreachable, 40*time.Second)
	})
}

func TestWaitGoesOnAfterARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := w.foreign("test", "bare")
		f.start(f.create("main", "sleep 4; exit 0"))
		c := w.start(nil, "wait", "bare", "--for=exit", "--timeout=60s")
		time.Sleep(2500 * time.Millisecond)
		w.restart(5 * time.Second)
		c.ends(shell.ExitOK, 3*time.Second)
		c.printed("test/bare/main exited 0\n")
	})
}

// A call that fails once, while the list succeeds, is no failure of the wait.
func TestWaitForgetsErrorsThatPassed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := w.foreign("test", "bare")
		f.start(f.create("main", "exit 0"))
		w.sim.Inject(`method=ContainerStatus nth=1 error=Unavailable message="connection reset"`)
		c := w.start(nil, "wait", "bare", "--for=exit")
		c.ends(shell.ExitOK, 5*time.Second)
		c.printed("test/bare/main exited 0\n")
		if c.errw.String() != "" {
			t.Errorf("stderr: %q", c.errw.String())
		}
	})
}

// What did not pass until the time is over is the error.
func TestWaitTimesOutDuringAnOutage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := w.foreign("test", "bare")
		f.start(f.create("main", "sleep 3600"))
		c := w.start(nil, "wait", "bare", "--for=exit", "--timeout=10s")
		time.Sleep(2500 * time.Millisecond)
		w.sim.Inject(`method=* error=Unavailable message="connection refused"`)
		c.ends(shell.ExitUnreachable, 9*time.Second)
		c.warned("exit is not met after 10s")
		c.warned("connection refused")
	})
}

// A runtime that accepts calls and does not answer lists is one that does not answer: exit 3,
// whatever the command.
func TestExitCodeWhileListsHang(t *testing.T) {
	for _, method := range []string{"Version", "ListPodSandbox", "ListContainers", "ListImages"} {
		for _, args := range []string{
			"pods", "images", "top", "logs web", "describe web", "exec web -- true", "inspect web", "wait web --for=exit", "orphans", "terminating", "stop web",
			"rm web", "rmi busybox", "prune --yes", "cp web:/etc/hosts hosts", "debug web --image busybox -- true", "attach web", "port-forward web 80",
		} {
			if usesImages := strings.HasPrefix(args, "images") || strings.HasPrefix(args, "rmi") || strings.HasPrefix(args, "prune"); method == "ListImages" && !usesImages {
				continue
			}
			t.Run(method+" "+args, func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					w.pod("default", "web").Start("app", "sleep", "3600")
					defer w.sim.Inject("method=" + method + " hang")()
					w.start(strings.NewReader(""), strings.Fields(args)...).ends(shell.ExitUnreachable, 2*time.Minute)
				})
			})
		}
	}
}
