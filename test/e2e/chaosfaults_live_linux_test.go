package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// chaosFaults are what breaks. Each reports whether it did: there may be nothing
// to break.
var chaosFaults = []struct {
	name  string
	cause func(*chaos) bool
}{
	{"agent killed", (*chaos).killAgent},
	{"agent stopped", (*chaos).stopAgent},
	{"agent frozen", (*chaos).freezeAgent},
	{"runtime killed", (*chaos).killRuntime},
	{"runtime frozen", (*chaos).freezeRuntime},
	{"shim killed", (*chaos).killShim},
	{"shim frozen", (*chaos).freezeShim},
	{"container killed", (*chaos).killContainer},
	{"sandbox stopped by another client", (*chaos).stopSandbox},
	{"network namespace deleted", (*chaos).deleteNetwork},
	{"pod directory deleted", (*chaos).deletePodDirectory},
	{"log directory deleted", (*chaos).deleteLogDirectory},
	{"run directory deleted", (*chaos).deleteRunDirectory},
	{"disk of the agent full", func(c *chaos) bool { return c.fillDisk(c.path("root/fill")) }},
	{"disk of the runtime full", func(c *chaos) bool { return !c.runtimeDown && c.fillDisk(c.runtimeFill()) }},
}

// one chooses an element of a list.
func one[T any](c *chaos, list []T) (chosen T, ok bool) {
	if len(list) == 0 {
		return chosen, false
	}
	return list[c.rng.IntN(len(list))], true
}

func (c *chaos) killAgent() bool {
	if c.agent == nil {
		return false
	}
	_ = c.agent.cmd.Process.Kill()
	<-c.agent.done
	c.agent = nil
	c.later(0, 1500*time.Millisecond, c.startAgent)
	return true
}

// agentStops is how long an agent may take to exit after SIGTERM; it gives its own
// operations 10 s.
const agentStops = 40 * time.Second

func (c *chaos) stopAgent() bool {
	if c.agent == nil || c.runtimeDown {
		return false
	}
	agent := c.agent
	c.agent = nil
	_ = agent.cmd.Process.Signal(syscall.SIGCONT) // it may be frozen
	_ = agent.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-agent.done:
	case <-time.After(agentStops): // it prints its goroutines and exits with 2
		_ = agent.cmd.Process.Signal(syscall.SIGQUIT)
	}
	// One that was just started may not serve, or not even handle SIGTERM yet. Starts
	// that a frozen shim or runtime holds up are not waited for.
	code := agent.wait()
	out, errw := agent.output()
	if code == 1 && strings.Contains(errw, "operations in flight did not end within") {
		c.counts["agents that left starts in flight"]++
	} else if code == 1 && c.runDeleted == agent {
		c.counts["agents that lost their run directory while they started"]++
	} else if code != 0 && code != exitUnreachable && code != exitInterrupted && code != exitSignal {
		c.t.Errorf("SIGTERM: the agent exits with %d\n%s%s", code, tail(out), errw)
	}
	c.later(0, time.Second, c.startAgent)
	return true
}

func (c *chaos) freezeAgent() bool {
	if c.agent == nil {
		return false
	}
	return c.freeze(c.agent.cmd.Process.Pid)
}

// freeze stops a process for some time.
func (c *chaos) freeze(pid int) bool {
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	c.note("process %d frozen", pid)
	c.later(500*time.Millisecond, 5*time.Second, func() {
		c.note("process %d thawed", pid)
		_ = syscall.Kill(pid, syscall.SIGCONT)
	})
	return true
}

// killRuntime does not kill a runtime whose disk is full: a containerd that starts
// on a full disk forgets the sandboxes and containers that it cannot load.
func (c *chaos) killRuntime() bool {
	if c.runtimeDown || c.isFull(c.runtimeFill()) {
		return false
	}
	c.rt.Kill(c.t)
	c.runtimeDown = true
	c.later(200*time.Millisecond, 3*time.Second, func() {
		c.rt.Start(c.t)
		c.runtimeDown = false
		c.note("runtime started")
	})
	return true
}

func (c *chaos) freezeRuntime() bool { return !c.runtimeDown && c.freeze(c.rt.PID(c.t)) }

func (c *chaos) killShim() bool {
	pid, ok := one(c, c.rt.Shims())
	c.note("shim %d", pid)
	return ok && syscall.Kill(pid, syscall.SIGKILL) == nil
}

func (c *chaos) freezeShim() bool {
	pid, ok := one(c, c.rt.Shims())
	return ok && c.freeze(pid)
}

func (c *chaos) killContainer() bool {
	pid, ok := one(c, c.rt.PodProcesses())
	return ok && syscall.Kill(pid, syscall.SIGKILL) == nil
}

// stopSandbox does what crictl stopp does, and does not wait long for it.
func (c *chaos) stopSandbox() bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	list, err := c.raw.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return false
	}
	sandbox, ok := one(c, list.Items)
	if !ok {
		return false
	}
	_, _ = c.raw.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox.Id})
	return true
}

func (c *chaos) deleteNetwork() bool {
	file, ok := one(c, c.rt.NetworkNamespaces())
	return ok && syscall.Unmount(file, syscall.MNT_DETACH) == nil && os.Remove(file) == nil
}

func (c *chaos) deletePodDirectory() bool {
	dir, ok := one(c, glob(c.t, c.path("root/pods/*")))
	if !ok {
		return false
	}
	c.deleted[filepath.Base(dir)] = true
	return c.removePodDirectory(dir) == nil
}

// removePodDirectory removes a pod's directory with what is mounted there.
func (c *chaos) removePodDirectory(dir string) error {
	for _, volume := range glob(c.t, dir+"/volumes/*/*") {
		_ = syscall.Unmount(volume, syscall.MNT_DETACH) // most are not mounted
	}
	return os.RemoveAll(dir)
}

func (c *chaos) deleteLogDirectory() bool {
	dir, ok := one(c, glob(c.t, c.path("logs/*")))
	return ok && os.RemoveAll(dir) == nil
}

// deleteRunDirectory deletes the locks and the control socket of a living agent.
func (c *chaos) deleteRunDirectory() bool {
	if c.agent == nil {
		return false
	}
	if len(glob(c.t, c.path("run/*/*.sock"))) == 0 {
		c.runDeleted = c.agent
	}
	return os.RemoveAll(c.path("run")) == nil
}

// runtimeFill is the directory that takes all space of the runtime's disk.
func (c *chaos) runtimeFill() string { return filepath.Join(c.disk, "fill") }

func (c *chaos) isFull(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "blocks"))
	return err == nil
}

// fillDisk fills a file system through a directory on it.
func (c *chaos) fillDisk(dir string) bool {
	if c.isFull(dir) {
		return false
	}
	file := filepath.Join(dir, "blocks")
	_ = fills["blocks"](filepath.Dir(dir)) // it ends when there is no space left
	c.later(500*time.Millisecond, 4*time.Second, func() {
		c.note("%s freed", dir)
		_ = os.Remove(file)
	})
	return true
}
