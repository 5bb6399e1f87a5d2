package starting

import (
	"fmt"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/sys/proc"
)

// rules is the table. The first row that matches decides: what is observed of processes,
// files and cgroups is before what was said, because it is so now; the last row matches
// everything.
var rules = []rule{
	{"the process that serves the runtime's socket is stopped", diagnose.LayerRuntime, diagnose.Observed, "`kill -CONT PID`", stoppedRuntime},
	{"its shim, conmon or `runc` is stopped", diagnose.LayerShim, diagnose.Observed, "`kill -CONT PID`", stoppedShim},
	{"a cgroup freezes its sandbox", diagnose.LayerCgroup, diagnose.Observed, "the command below the row, which thaws it", frozen},
	{"a path of its volumes does not answer", diagnose.LayerVolume, diagnose.Observed, "look at that mount: `findmnt -T PATH`", hangingPath},
	{"`mount`, `runc` or a shim waits for a file system", diagnose.LayerVolume, diagnose.Likely, "`cat /proc/PID/stack`", fileWait},
	{"`runc` or a shim is in uninterruptible sleep", diagnose.LayerKernel, diagnose.Observed, "`cat /proc/PID/stack`", uninterruptible},
	{"a CNI plugin runs for more than 5 s", diagnose.LayerNetwork, diagnose.Observed, "`cat /proc/PID/stack`, the plugin's log", slowPlugin},
	{"a `mount` for its volumes runs for more than 5 s", diagnose.LayerVolume, diagnose.Observed, "`cat /proc/PID/stack`", slowMount},
	{"its podctl process does not take it: another pod has its name, a port, a device, the resources", diagnose.LayerAdmission, diagnose.Observed, "what the row names", waitsForAdmission},
	{"a path of a hostPath volume is missing, or of another type", diagnose.LayerVolume, diagnose.Observed, "create it, or correct the manifest", wrongPath},
	{"a pull of more than 10 s receives nothing for 3 s", diagnose.LayerRegistry, diagnose.Likely, "`podctl pull IMAGE`", stalledPull},
	{"an image is pulled for more than 10 s, and the runtime has no pull that has received anything", diagnose.LayerRegistry, diagnose.Likely, "`podctl pull IMAGE`", silentPull},
	{"a pull receives data, or unpacks it", diagnose.LayerNone, diagnose.Observed, "wait", activePull},
	{"a postStart hook runs", diagnose.LayerHook, diagnose.Observed, "`podctl exec POD -- ps`", runningHook},
	{"the kernel killed the container for lack of memory, or a process of it just before it exited (likely)", diagnose.LayerKernel, diagnose.Observed, "raise its limit", killedForMemory},
	{"its postStart hook failed", diagnose.LayerHook, diagnose.Observed, "`podctl logs POD/CONTAINER`", failedHook},
	{"a liveness or startup probe ended the container", diagnose.LayerProbe, diagnose.Likely, "`podctl logs POD/CONTAINER`", killedForProbe},
	{"an error of its owner or of the runtime names the layer: see [errors](#errors)", "", diagnose.Observed, "what the row names", namedByError},
	{"its program exits", diagnose.LayerApplication, diagnose.Observed, "`podctl logs POD/CONTAINER`", exits},
	{"an init container runs", diagnose.LayerApplication, diagnose.Observed, "`podctl logs -f POD/CONTAINER`", runningInit},
	{"a startup or readiness probe fails", diagnose.LayerProbe, diagnose.Observed, "`podctl logs -f POD/CONTAINER`", failingProbe},
	{"it runs, and the kubelet says that its startup probe has not succeeded, or that it is not ready", diagnose.LayerProbe, diagnose.Likely, "`podctl logs -f POD/CONTAINER`", unready},
	{"a readiness gate is not true", diagnose.LayerNone, diagnose.Observed, "`podctl condition POD GATE=True`, if nobody else sets it", unmetGate},
	{"the runtime says that its network is not ready", diagnose.LayerNetwork, diagnose.Observed, "`podctl doctor`", networkNotReady},
	{"a call of the runtime is in flight for more than 30 s, and nothing that works for it is seen", diagnose.LayerRuntime, diagnose.Likely, "`podctl pleg check`", slowCall},
	{"the runtime does not answer", diagnose.LayerRuntime, diagnose.Observed, "`podctl doctor`", silentRuntime},
	{"a sandbox or container that nobody has filled or started", diagnose.LayerWorker, diagnose.Observed, "`podctl rm POD`, if nobody does; `podctl orphans POD` where its podctl process has exited", unmanaged},
	{"it is in progress", diagnose.LayerNone, diagnose.Observed, "wait", inProgress},
	{"nothing of these", diagnose.LayerNone, diagnose.Unknown, "`podctl describe POD`", unknownCause},
}

func stoppedRuntime(v *view) finding {
	s := v.Server
	if s.State != proc.Stopped && s.State != proc.Traced {
		return finding{}
	}
	return found(Evidence{Kind: KindProcess, Subject: s.Comm, PID: s.PID, State: s.State.String(), Message: "is stopped"}, fmt.Sprintf("kill -CONT %d", s.PID))
}

func stoppedShim(v *view) finding {
	for i := range v.Processes {
		p := &v.Processes[i]
		if p.stopped() && (p.Role == RoleShim || p.Role == RoleOCI) && usesProcesses(v.step) {
			return found(p.evidence(), fmt.Sprintf("kill -CONT %d", p.PID))
		}
	}
	return finding{}
}

func frozen(v *view) finding {
	if v.Frozen == "" || !usesProcesses(v.step) {
		return finding{}
	}
	return found(Evidence{Kind: KindCgroup, Subject: v.Frozen}, diagnose.Thaw(v.Frozen))
}

func hangingPath(v *view) finding {
	for _, p := range v.Paths {
		if p.Hangs && (v.step == StepVolume || usesProcesses(v.step)) {
			return finding{evidence: []Evidence{p.evidence()}, next: commandOn("findmnt -T ", p.Path), step: v.volumeStep()}
		}
	}
	return finding{}
}

// commandOn returns a command with a path or an image as its last argument, none if a shell would
// read that as something else.
func commandOn(command, name string) []string {
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune("/:@", r) }) {
		if !pod.IsShellSafe(strings.TrimLeft(part, "._")) {
			return nil
		}
	}
	return []string{command + name}
}

// volumeStep is the step of a pod of which a volume hangs: that of its container, if it has a
// sandbox.
func (v *view) volumeStep() Step {
	if v.readySandbox() == nil {
		return StepVolume
	}
	return v.step
}

func wrongPath(v *view) finding {
	for _, p := range v.Paths {
		if !p.Hangs && v.readySandbox() == nil {
			return finding{evidence: []Evidence{p.evidence()}, next: commandOn("ls -ld ", p.Path), step: StepVolume}
		}
	}
	return finding{}
}

func fileWait(v *view) finding {
	for i := range v.Processes {
		if p := &v.Processes[i]; p.waitsForFiles() && v.now.Sub(p.Started) > slowProcess && (p.Role == RoleMount || usesProcesses(v.step)) {
			return found(p.evidence(), fmt.Sprintf("cat /proc/%d/stack", p.PID))
		}
	}
	return finding{}
}

func uninterruptible(v *view) finding {
	for i := range v.Processes {
		if p := &v.Processes[i]; p.Blocked && p.Role != RoleCNI && v.now.Sub(p.Started) > slowProcess && usesProcesses(v.step) {
			return found(p.evidence(), fmt.Sprintf("cat /proc/%d/stack", p.PID))
		}
	}
	return finding{}
}

func slowPlugin(v *view) finding {
	f := finding{step: StepNetwork}
	for i := range v.Processes {
		if p := &v.Processes[i]; p.Role == RoleCNI && (p.stopped() || v.now.Sub(p.Started) > slowProcess) {
			f.evidence, f.next = append(f.evidence, p.evidence()), append(f.next, fmt.Sprintf("cat /proc/%d/stack", p.PID))
		}
	}
	return f
}

func slowMount(v *view) finding {
	for i := range v.Processes {
		if p := &v.Processes[i]; p.Role == RoleMount && v.now.Sub(p.Started) > slowProcess {
			f := found(p.evidence(), fmt.Sprintf("cat /proc/%d/stack", p.PID))
			f.step = StepVolume
			return f
		}
	}
	return finding{}
}
