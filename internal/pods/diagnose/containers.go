package diagnose

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

// judgeContainers examines the processes of the containers.
func judgeContainers(f Facts, _ time.Time) (Verdict, bool) {
	for _, c := range f.Containers {
		if c.Err != nil {
			return Verdict{LayerRuntime, Observed, fmt.Sprintf("the runtime does not report the status of %s: %v", c.Name, c.Err), f.askRuntime()}, true
		}
		if !c.known() {
			continue
		}
		for _, rule := range []func(Facts, Container) (Verdict, bool){judgeShim, judgeCgroup, judgeProcess} {
			if v, found := rule(f, c); found {
				return v, true
			}
		}
	}
	return Verdict{}, false
}

func judgeShim(f Facts, c Container) (Verdict, bool) {
	p, shim := c.Process, c.Shim
	switch {
	case shim.State == proc.Stopped || shim.State == proc.Traced:
		return Verdict{LayerShim, Observed, fmt.Sprintf("the shim of %s (pid %d) is stopped", c.Name, shim.PID),
			withKillShim(shim, fmt.Sprintf("kill -CONT %d", shim.PID))}, true
	case shim.State.Ended() || shim.State == proc.Uninterruptible && f.overdue():
		return Verdict{LayerShim, Observed, fmt.Sprintf("the shim of %s (pid %d, state %s) does not work", c.Name, shim.PID, shim.State), f.orForceShim(shim)}, true
	case c.Kill.PID != 0 && c.KillAge >= slowKill && c.Frozen == "": // runc waits while a cgroup freezes
		return Verdict{LayerShim, Observed, fmt.Sprintf("the shim of %s waits for %s (pid %d), which has been sending the signal for %s",
			c.Name, c.Kill.Comm, c.Kill.PID, age(c.KillAge)), f.orForceShim(shim, fmt.Sprintf("cat /proc/%d/stack", c.Kill.PID))}, true
	case c.Gone && shim.PID == 0:
		return Verdict{LayerShim, Observed, fmt.Sprintf("%s (pid %d) has exited; the runtime still reports it as running", c.Name, c.PID), f.orForceShim(shim)}, true
	case p.State.Ended():
		next := f.orForceShim(shim)
		if shim.PID != 0 {
			next = f.orForceShim(shim, fmt.Sprintf("cat /proc/%d/wchan", shim.PID))
		}
		return Verdict{LayerShim, Observed, fmt.Sprintf("%s (pid %d) is a zombie: its parent, pid %d, does not wait for it", c.Name, p.PID, p.Parent), next}, true
	case f.Worker == nil && shim.PID == 0 && p.Parent == 1 && !c.Gone:
		return Verdict{LayerShim, Likely, fmt.Sprintf("%s (pid %d) has no shim: its parent is pid 1", c.Name, p.PID),
			f.orForce(fmt.Sprintf("kill -KILL %d", p.PID))}, true
	}
	return Verdict{}, false
}

func judgeCgroup(f Facts, c Container) (Verdict, bool) {
	if c.Frozen == "" {
		return Verdict{}, false
	}
	return Verdict{LayerCgroup, Observed, fmt.Sprintf("%s (pid %d) is frozen by the cgroup %s", c.Name, c.PID, c.Frozen), []string{Thaw(c.Frozen)}}, true
}

func judgeProcess(f Facts, c Container) (Verdict, bool) {
	p := c.Process
	signal, name := c.stopSignal()
	switch {
	case p.State == proc.Uninterruptible && (c.killed(p) || f.overdue()):
		return Verdict{LayerProcess, Observed, fmt.Sprintf("%s (pid %d) is in uninterruptible sleep%s", c.Name, p.PID, inKernel(c.WaitChannel)),
			f.orForce(fmt.Sprintf("cat /proc/%d/stack", p.PID))}, true
	case (p.State == proc.Stopped || p.State == proc.Traced) && !f.overdue():
		return Verdict{LayerProcess, Observed, fmt.Sprintf("%s (pid %d) is stopped: %s stays pending until it continues", c.Name, p.PID, name),
			[]string{fmt.Sprintf("kill -CONT %d", p.PID)}}, true
	case c.PreStop && c.Hook.PID != 0 && !c.killed(p), f.inHook(c.Name):
		return Verdict{}, false // the signal has not been sent: see judgeHooks
	case strings.Contains(c.WaitChannel, "sigtimedwait"):
		// It may wait for the signal, which the kernel keeps for it.
	case p.Discards(signal) && !f.overdue() && f.asked():
		confidence := Observed
		if c.WaitChannel == "" && p.State == proc.Sleeping {
			confidence = Likely // it is not known what it waits for
		}
		return Verdict{LayerProcess, confidence, fmt.Sprintf("%s (pid %d) %s %s; it is killed when the grace period ends", c.Name, p.PID, discards(p, signal), name), f.hurry(c)}, true
	}
	return Verdict{}, false
}

// discards says how a process discards a signal.
func discards(p proc.Process, signal syscall.Signal) string {
	switch {
	case p.Blocked.Has(signal):
		return "blocks"
	case p.Ignored.Has(signal):
		return "ignores"
	}
	return "is PID 1 of its namespace without a handler for"
}

// asked reports whether the pod is known to be terminating.
func (f Facts) asked() bool {
	return f.Worker != nil || f.KubeletTerminates || f.stopRecorded()
}

// inHook reports whether the pod's podctl runs an exec in the container, which
// during termination is its preStop hook.
func (f Facts) inHook(container string) bool {
	if f.Worker == nil {
		return false
	}
	for _, call := range f.Worker.Calls {
		if call.Method == execSync && call.Container == container {
			return true
		}
	}
	return false
}

const execSync = "ExecSync"

// judgeHooks examines preStop hooks: the stop signal is sent after they have finished.
func judgeHooks(f Facts, now time.Time) (Verdict, bool) {
	if f.overdue() {
		return Verdict{}, false
	}
	if f.Worker != nil {
		for _, call := range f.Worker.Calls {
			if call.Method == execSync {
				c := f.container(call.Container)
				_, name := c.stopSignal()
				return Verdict{LayerHook, Observed, fmt.Sprintf("the preStop hook of %s has been running for %s; %s follows it",
					call.Container, age(now.Sub(call.Since)), name), f.hurry(c)}, true
			}
		}
	}
	for _, c := range f.Containers {
		if c.known() && c.PreStop && c.Hook.PID != 0 && !c.killed(c.Process) && f.asked() {
			_, name := c.stopSignal()
			return Verdict{LayerHook, Likely, fmt.Sprintf("%s (pid %d) was started by an exec in %s, probably as its preStop hook; %s follows it",
				c.Hook.Comm, c.Hook.PID, c.Name, name), f.hurry(c)}, true
		}
	}
	return Verdict{}, false
}

func (f Facts) container(name string) Container {
	for _, c := range f.Containers {
		if c.Name == name {
			return c
		}
	}
	return Container{Name: name}
}
