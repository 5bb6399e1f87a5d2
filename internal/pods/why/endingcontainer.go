package why

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/denied"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

func unreportedContainer(v *facts) Verdict {
	for _, c := range v.Ending.Containers {
		if c.Err != nil {
			return state("the runtime does not report the status of %s: %v", c.Name, c.Err).try(v.askRuntime()...)
		}
	}
	return Verdict{}
}

// eachRunning returns the first Verdict about a container whose first process was read.
func eachRunning(match func(*facts, *view.ContainerProcess) Verdict) func(*facts) Verdict {
	return func(v *facts) Verdict {
		for i := range v.Ending.Containers {
			if c := &v.Ending.Containers[i]; c.Known() {
				if f := match(v, c); len(f.Evidence) > 0 {
					return f
				}
			}
		}
		return Verdict{}
	}
}

func brokenShim(v *facts, c *view.ContainerProcess) Verdict {
	p, shim := c.Process, c.Shim
	switch {
	case shim.State == proc.Stopped || shim.State == proc.Traced:
		return state("the shim of %s (pid %d) is stopped", c.Name, shim.PID).try(withKillShim(shim, fmt.Sprintf("kill -CONT %d", shim.PID))...)
	case shim.State.Ended() || shim.State == proc.Uninterruptible && v.overdue():
		return state("the shim of %s (pid %d, state %s) does not work", c.Name, shim.PID, shim.State).try(v.orForceShim(shim)...)
	case c.Kill.PID != 0 && c.KillAge >= slowKill && c.Frozen == "": // runc waits while a cgroup freezes
		return state("the shim of %s waits for %s (pid %d), which has been sending the signal for %s", c.Name, c.Kill.Comm, c.Kill.PID, age(c.KillAge)).
			try(v.orForceShim(shim, fmt.Sprintf("cat /proc/%d/stack", c.Kill.PID))...)
	case c.Gone && shim.PID == 0:
		return state("%s (pid %d) has exited; the runtime still reports it as running", c.Name, c.PID).try(v.orForceShim(shim)...)
	case p.State.Ended() && shim.PID != 0:
		return state("%s (pid %d) is a zombie: its parent, pid %d, does not wait for it", c.Name, p.PID, p.Parent).try(v.orForceShim(shim, fmt.Sprintf("cat /proc/%d/wchan", shim.PID))...)
	case p.State.Ended():
		return state("%s (pid %d) is a zombie: its parent, pid %d, does not wait for it", c.Name, p.PID, p.Parent).try(v.orForceShim(shim)...)
	case v.Manager == nil && shim.PID == 0 && p.Parent == 1 && !c.Gone:
		return state("%s (pid %d) has no shim: its parent is pid 1", c.Name, p.PID).try(v.orForce(fmt.Sprintf("kill -KILL %d", p.PID))...).likely()
	}
	return Verdict{}
}

func frozenContainer(_ *facts, c *view.ContainerProcess) Verdict {
	if c.Frozen == "" {
		return Verdict{}
	}
	return state("%s (pid %d) is frozen by the cgroup %s", c.Name, c.PID, c.Frozen).try(Thaw(c.Frozen))
}

// deniedSignal examines a container whose profile does not let the runtime's signals in. The process in the
// record is the runtime's, which has ended.
func deniedSignal(v *facts, c *view.ContainerProcess) Verdict {
	for _, g := range c.Denied {
		if v.asked() && g.By == denied.AppArmor && strings.HasPrefix(g.Action, "receive signal") && !g.Time.Before(v.Ending.Requested.Add(-slowKill)) {
			return state("%s (pid %d) was denied: %s", c.Name, c.PID, g.Text(v.now)).try(KernelDenied)
		}
	}
	return Verdict{}
}

func stubbornProcess(v *facts, c *view.ContainerProcess) Verdict {
	p := c.Process
	signal, name := c.SignalToStop()
	switch {
	case p.State == proc.Uninterruptible && (c.Killed(p) || v.overdue()):
		return state("%s (pid %d) is in uninterruptible sleep%s", c.Name, p.PID, pod.Prefixed(" in ", c.WaitChannel)).try(v.orForce(fmt.Sprintf("cat /proc/%d/stack", p.PID))...)
	case (p.State == proc.Stopped || p.State == proc.Traced) && !v.overdue():
		return state("%s (pid %d) is stopped: %s stays pending until it continues", c.Name, p.PID, name).try(fmt.Sprintf("kill -CONT %d", p.PID))
	case v.hookRuns(c), strings.Contains(c.WaitChannel, "sigtimedwait"): // it may wait for the signal, which the kernel keeps for it
	case p.Discards(signal) && !v.overdue() && v.asked():
		f := state("%s (pid %d) %s %s; it is killed when the grace period ends", c.Name, p.PID, discards(p, signal), name).try(v.hurry(c)...)
		if c.WaitChannel == "" && p.State == proc.Sleeping {
			f.Confidence = Likely // it is not known what it waits for
		}
		return f
	}
	return Verdict{}
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

// slowHandler is how long a program may take to end after a signal that it handles.
const slowHandler = 2 * time.Second

// handlesSignal examines a process that handles the stop signal, and has not ended. That the signal
// was sent is inferred: it was asked for, and is not pending.
func handlesSignal(v *facts, c *view.ContainerProcess) Verdict {
	p, e := c.Process, &v.Ending
	signal, name := c.SignalToStop()
	took := v.now.Sub(e.Requested)
	switch {
	case c.Gone || e.GraceLeft == nil || v.overdue() || took < slowHandler || v.hookRuns(c) || !v.asked():
		return Verdict{}
	case !p.Caught.Has(signal) || c.Killed(p) || p.Blocked.Has(signal):
		return Verdict{}
	case v.Manager != nil && !slices.ContainsFunc(v.Worker.Calls, func(call control.Call) bool { return call.Method == "StopContainer" && call.Container == c.Name }):
		return Verdict{} // it has yet to be asked
	}
	return state("%s (pid %d) handles %s, asked for %s ago, and runs on; it is killed in %s", c.Name, p.PID, name, age(took), age(*e.GraceLeft)).try(v.hurry(c)...)
}

const execSync = "ExecSync"

// hookRuns reports whether a preStop hook of the container runs: the stop signal has not been sent.
func (v *facts) hookRuns(c *view.ContainerProcess) bool {
	return c.PreStop && c.Hook.PID != 0 && !c.Killed(c.Process) || v.hookCall(c.Name) != nil
}

// hookCall returns the exec that the pod's podctl runs in a container, which during termination is
// its preStop hook; in any container if name is "".
func (v *facts) hookCall(name string) *control.Call {
	i := slices.IndexFunc(v.Worker.Calls, func(call control.Call) bool { return call.Method == execSync && (name == "" || call.Container == name) })
	if i < 0 {
		return nil
	}
	return &v.Worker.Calls[i]
}

func preStopHook(v *facts) Verdict {
	if v.overdue() {
		return Verdict{}
	}
	if call := v.hookCall(""); call != nil {
		c := &view.ContainerProcess{Name: call.Container}
		if i := slices.IndexFunc(v.Ending.Containers, func(of view.ContainerProcess) bool { return of.Name == call.Container }); i >= 0 {
			c = &v.Ending.Containers[i]
		}
		_, name := c.SignalToStop()
		return state("the preStop hook of %s has been running for %s; %s follows it", call.Container, age(v.now.Sub(call.Since)), name).try(v.hurry(c)...)
	}
	return eachRunning(func(v *facts, c *view.ContainerProcess) Verdict {
		if !v.asked() || !v.hookRuns(c) {
			return Verdict{}
		}
		_, name := c.SignalToStop()
		return state("%s (pid %d) was started by an exec in %s, probably as its preStop hook; %s follows it", c.Hook.Comm, c.Hook.PID, c.Name, name).try(v.hurry(c)...).likely()
	})(v)
}
