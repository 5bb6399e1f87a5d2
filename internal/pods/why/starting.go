package why

import (
	"fmt"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

// startingRules is the table of pods that should run and do not. The first row that matches decides: what is observed of processes,
// files and cgroups is before what was said, because it is so now; the last row matches
// everything.
var startingRules = []rule{
	{"the process that serves the runtime's socket is stopped", LayerRuntime, Observed, "`kill -CONT PID`", stoppedRuntime},
	{"its shim, conmon or `runc` is stopped", LayerShim, Observed, "`kill -CONT PID`", stoppedShim},
	{"no process has the PID of a container that the runtime reports as running", LayerRuntime, Observed, "`podctl doctor`; `podctl restart POD/CONTAINER`", goneProcess},
	{"a cgroup freezes its sandbox or a container", LayerCgroup, Observed, "the command below the row, which thaws it", frozen},
	{"a path of its volumes does not answer", LayerVolume, Observed, "look at that mount: `findmnt -T PATH`", hangingPath},
	{"`mount`, `runc` or a shim waits for a file system", LayerVolume, Likely, "`cat /proc/PID/stack`", fileWait},
	{"`runc` or a shim is in uninterruptible sleep", LayerKernel, Observed, "`cat /proc/PID/stack`", uninterruptible},
	{"a CNI plugin runs for more than 5 s", LayerNetwork, Observed, "`cat /proc/PID/stack`, the plugin's log", slowPlugin},
	{"a `mount` for its volumes runs for more than 5 s", LayerVolume, Observed, "`cat /proc/PID/stack`", slowMount},
	{"its podctl process does not take it: another pod has its name, a port, a device, the resources", LayerAdmission, Observed, "what the row names", waitsForAdmission},
	{"a path of a hostPath volume is missing, or of another type", LayerVolume, Observed, "create it, or correct the manifest", wrongPath},
	{"an image is pulled for more than 10 s", LayerRegistry, Likely, "`podctl pull IMAGE`", longPull},
	{"a postStart hook runs", LayerHook, Observed, "`podctl exec POD -- ps`", runningHook},
	{"the kernel killed the container for lack of memory, or a process of it just before it exited (likely)", LayerKernel, Observed, "raise its limit", killedForMemory},
	{"its postStart hook failed", LayerHook, Observed, "`podctl logs POD/CONTAINER`", failedHook},
	{"a liveness or startup probe ended the container", LayerProbe, Likely, "`podctl logs POD/CONTAINER`", killedForProbe},
	{"a process of the host, none of the pod's, listens on a host port that it asks for, and its sandbox is made, or its program returns an error", LayerAdmission, Likely, "`ss -ltnup`", takenPort},
	{"an error of its owner or of the runtime names the layer: see [errors](#errors)", "", Observed, "what the row names", namedByError},
	{"its program exits", LayerApplication, Observed, "`podctl logs POD/CONTAINER`", exits},
	{"an init container runs", LayerApplication, Observed, "`podctl logs -f POD/CONTAINER`", runningInit},
	{"a startup or readiness probe fails", LayerProbe, Observed, "`podctl logs -f POD/CONTAINER`", failingProbe},
	{"it runs, and the kubelet says that its startup probe has not succeeded, or that it is not ready", LayerProbe, Likely, "`podctl logs -f POD/CONTAINER`", unready},
	{"a readiness gate is not true", LayerNone, Observed, "`podctl condition POD GATE=True`, if nobody else sets it", unmetGate},
	{"the runtime says that its network is not ready", LayerNetwork, Observed, "`podctl doctor`", networkNotReady},
	{"a call of the runtime is in flight for more than 30 s, and nothing that works for it is seen", LayerRuntime, Likely, "`podctl pleg check`", callInFlight},
	{"the runtime does not answer", LayerRuntime, Observed, "`podctl doctor`", silentRuntime},
	{"a sandbox or container that nobody has filled or started", LayerWorker, Observed, "`podctl rm POD`, if nobody does; `podctl orphans POD` where its podctl process has exited", unmanaged},
	{"it is in progress", LayerNone, Observed, "wait", inProgress},
	{"nothing of these", LayerNone, Unknown, "`podctl describe POD`", unknownCause},
}

func stoppedRuntime(v *facts) Verdict {
	s := v.Server
	if s.State != proc.Stopped && s.State != proc.Traced {
		return Verdict{}
	}
	return found(Evidence{Kind: KindProcess, Subject: s.Comm, PID: s.PID, State: s.State.String(), Message: "is stopped"}, fmt.Sprintf("kill -CONT %d", s.PID))
}

func stoppedShim(v *facts) Verdict {
	for i := range v.Processes {
		p := &v.Processes[i]
		if p.IsStopped() && (p.Role == view.RoleShim || p.Role == view.RoleOCI) && usesProcesses(v.step) {
			return found(processEvidence(p), fmt.Sprintf("kill -CONT %d", p.PID))
		}
	}
	return Verdict{}
}

func goneProcess(v *facts) Verdict {
	for i := range v.Containers {
		if c := &v.Containers[i]; c.State == view.Running && c.Gone {
			text, next := BrokenText(v.CLIName(), c)
			return found(Evidence{Kind: KindState, Message: text}, next...)
		}
	}
	return Verdict{}
}

// BrokenText says what is the matter with the process of a container that does not run, and the
// commands to try; pod names its pod on a command line.
func BrokenText(pod string, c *view.Container) (text string, next []string) {
	if c.Gone {
		return fmt.Sprintf("%s: the runtime reports it as running, and its process (pid %d) has ended", c.Name, c.PID), []string{"podctl doctor", "podctl restart " + pod + "/" + c.Name}
	}
	return fmt.Sprintf("%s (pid %d) is frozen by the cgroup %s", c.Name, c.PID, c.Frozen), []string{Thaw(c.Frozen)}
}

func frozen(v *facts) Verdict {
	if v.Frozen == "" || !usesProcesses(v.step) {
		return Verdict{}
	}
	return found(Evidence{Kind: KindCgroup, Subject: v.Frozen}, Thaw(v.Frozen))
}

func hangingPath(v *facts) Verdict {
	for _, p := range v.Paths {
		if p.Hangs && (v.step == StepVolume || usesProcesses(v.step)) {
			return Verdict{Evidence: []Evidence{pathEvidence(p)}, Next: commandOn("findmnt -T ", p.Path), Step: v.volumeStep()}
		}
	}
	return Verdict{}
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
func (v *facts) volumeStep() Step {
	if v.ReadySandbox() == nil {
		return StepVolume
	}
	return v.step
}

func wrongPath(v *facts) Verdict {
	for _, p := range v.Paths {
		if !p.Hangs && v.ReadySandbox() == nil {
			return Verdict{Evidence: []Evidence{pathEvidence(p)}, Next: commandOn("ls -ld ", p.Path), Step: StepVolume}
		}
	}
	return Verdict{}
}

func fileWait(v *facts) Verdict {
	for i := range v.Processes {
		if p := &v.Processes[i]; p.WaitsForFiles() && v.now.Sub(p.Started) > slowProcess && (p.Role == view.RoleMount || usesProcesses(v.step)) {
			return found(processEvidence(p), fmt.Sprintf("cat /proc/%d/stack", p.PID))
		}
	}
	return Verdict{}
}

func uninterruptible(v *facts) Verdict {
	for i := range v.Processes {
		if p := &v.Processes[i]; p.Blocked && p.Role != view.RoleCNI && v.now.Sub(p.Started) > slowProcess && usesProcesses(v.step) {
			return found(processEvidence(p), fmt.Sprintf("cat /proc/%d/stack", p.PID))
		}
	}
	return Verdict{}
}

func slowPlugin(v *facts) Verdict {
	f := Verdict{Step: StepNetwork}
	for i := range v.Processes {
		if p := &v.Processes[i]; p.Role == view.RoleCNI && (p.IsStopped() || v.now.Sub(p.Started) > slowProcess) {
			f.Evidence, f.Next = append(f.Evidence, processEvidence(p)), append(f.Next, fmt.Sprintf("cat /proc/%d/stack", p.PID))
		}
	}
	return f
}

// takenPort examines the host ports of a pod: the runtime may fail to map one, and a program on the host's
// network to listen.
func takenPort(v *facts) Verdict {
	for _, taken := range v.TakenPorts {
		end := v.end()
		fails := v.step == StepRestart && v.containerName() == taken.Container && end != nil && end.Cause.Kind == view.CauseExit
		if fails || v.step == StepSandbox || v.step == StepNetwork {
			f := found(Evidence{Kind: KindState, Container: taken.Container, PID: taken.PID, Message: TakenPortText(taken)}, "ss -ltnup")
			f.Step = StepHostPort
			return f
		}
	}
	return Verdict{}
}

// TakenPortText says which process listens on a host port.
func TakenPortText(p view.TakenPort) string {
	return fmt.Sprintf("host port %d/%s: %s (pid %d), which is none of the pod's, listens on it", p.Port, p.Protocol, p.Process, p.PID)
}

func slowMount(v *facts) Verdict {
	for i := range v.Processes {
		if p := &v.Processes[i]; p.Role == view.RoleMount && v.now.Sub(p.Started) > slowProcess {
			f := found(processEvidence(p), fmt.Sprintf("cat /proc/%d/stack", p.PID))
			f.Step = StepVolume
			return f
		}
	}
	return Verdict{}
}
