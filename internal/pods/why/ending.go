package why

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

// endingRules is the table of pods that are being terminated. The first row that matches decides.
var endingRules = []rule{
	{"its podctl process was suspended while it terminated the pod", LayerWorker, Observed, "`kill -CONT PID`", suspendedOwner},
	{"the runtime does not report the status of a container", LayerRuntime, Observed, "`podctl pleg check`; the runtime's goroutines", unreportedContainer},
	{"a shim or conmon is stopped (T) or hangs (D), or has ended; a `runc kill` hangs; there is no shim (likely); a process has exited, or is a zombie, and the runtime reports it as running", LayerShim, Observed, "`kill -CONT PID`; else `kill -KILL PID` of a containerd shim, whose container containerd then removes. A stopped shim stops nothing, for `podctl rm --force` neither", eachRunning(brokenShim)},
	{"the container's cgroup, or one above it, is frozen", LayerCgroup, Observed, "the command below the row, which thaws it", eachRunning(frozenContainer)},
	{"the kernel's log says that the container's AppArmor profile denied it a signal since the stop: whose record it is shows its profile", LayerKernel, Likely, "the profile: it has to let the runtime's signals in", eachRunning(deniedSignal)},
	{"a process is in uninterruptible sleep (D) past its grace period or with a signal pending, is stopped (T), or ignores or blocks its stop signal, or is PID 1 without a handler (likely where the kernel does not show what it waits for)", LayerProcess, Observed, "its stack: `cat /proc/PID/stack`; `kill -CONT PID`; a shorter grace period", eachRunning(stubbornProcess)},
	{"a preStop hook runs; the stop signal is sent after it", LayerHook, Observed, "wait for the grace period, or shorten it", preStopHook},
	{"another process has held a lock of podctl for more than a second; podctl retries", LayerLock, Observed, "the process that the row names", waitsForLock},
	{"a call is in flight for 10 s (StopContainer, and ExecSync: beyond the grace period)", LayerRuntime, Observed, "`podctl pleg check`; the runtime's goroutines", slowStop},
	{"the runtime does not report the pod's status", LayerRuntime, Observed, "`podctl pleg check`", unreportedStatus},
	{"StopPodSandbox fails and no container runs, or the sandbox has stopped and its network is not torn down (containerd)", LayerNetwork, Likely, "the CNI plugin's log; `crictl inspectp`", heldNetwork},
	{"an unmount failed, or something is mounted below the directory of a pod of which nothing else is left (likely if a stopped sandbox is left or a directory cannot be removed)", LayerVolume, Observed, "`fuser -vm PATH`", heldVolumes},
	{"the last operation of its podctl process failed and waits for its retry, or is late; or its podctl process has exited, or does not answer (likely)", LayerWorker, Observed, "the error in the row; `podctl rm`", failedWorker},
	{"its processes are not visible", LayerNone, Unknown, "run podctl in the runtime's PID namespace", hiddenProcesses},
	{"a process handles the stop signal, which was asked for more than 2 s ago, and runs on", LayerProcess, Likely, "wait for the grace period, or shorten it", eachRunning(handlesSignal)},
	{"a kubelet's container or sandbox runs 10 s after the grace period", LayerRuntime, Likely, "`podctl pleg check`", lateKubelet},
}

// StuckLayers returns every layer that a terminating pod can be stuck in.
func StuckLayers() []Layer {
	return []Layer{LayerWorker, LayerRuntime, LayerShim, LayerHook, LayerCgroup, LayerProcess, LayerVolume, LayerNetwork, LayerLock, LayerKernel}
}

func (v *facts) overdue() bool { return v.Ending.GraceLeft != nil && *v.Ending.GraceLeft < 0 }

// asked reports whether the pod is known to be terminating.
func (v *facts) asked() bool {
	return v.Manager != nil || v.Ending.KubeletTerminates || v.StopRecorded()
}

func suspendedOwner(v *facts) Verdict {
	if v.Ownership() != view.OwnedBySuspended || !v.StopRecorded() {
		return Verdict{}
	}
	return state("its owner, podctl %s (pid %d), is suspended (state T) while it terminates the pod", v.Owner.Instance, v.Verdict.Process.PID).try(fmt.Sprintf("kill -CONT %d", v.Verdict.Process.PID))
}

func waitsForLock(v *facts) Verdict {
	if len(v.Worker.Locks) == 0 || v.now.Sub(v.Worker.Locks[0].Since) < slowLock {
		return Verdict{}
	}
	l := v.Worker.Locks[0]
	why := fmt.Sprintf("%s has been waiting for the lock on %s for %s", v.Worker.Operation, l.Path, age(v.now.Sub(l.Since)))
	switch {
	case l.PID == 0:
		return state("%s; its holder is not visible", why).try("fuser -v " + l.Path)
	case l.Command == "":
		why += fmt.Sprintf(", which pid %d holds", l.PID)
	default:
		why += fmt.Sprintf(", which %s (pid %d) holds", l.Command, l.PID)
	}
	return state("%s", why).try(fmt.Sprintf("ps -fp %d", l.PID))
}

func slowStop(v *facts) Verdict {
	for _, c := range v.Worker.Calls {
		took, limit := v.now.Sub(c.Since), slowCall
		if c.Method == "StopContainer" || c.Method == execSync {
			limit += time.Duration(v.Worker.GraceSeconds) * time.Second
		}
		if took < limit {
			continue
		}
		f := state("%s has been in flight for %s", pod.Joined(" of ", c.Method, c.Container), age(took)).try(v.askRuntime()...)
		if (c.Method == "StopPodSandbox" || c.Method == "RemovePodSandbox") && len(v.Ending.Containers) == 0 {
			f.Layer, f.Confidence, f.Next = LayerNetwork, Likely, v.checkNetwork()
			f.Evidence[0].Message += ": it tears down the pod's network"
		}
		return f
	}
	return Verdict{}
}

// failedIn reports whether the worker's last operation failed in a layer.
func (v *facts) failedIn(layers ...event.Layer) bool {
	return !v.Ending.LastError.IsZero() && slices.Contains(layers, v.Ending.LastError.Layer)
}

func unreportedStatus(v *facts) Verdict {
	if !v.failedIn(event.LayerStatus, event.LayerRuntime) {
		return Verdict{}
	}
	return state("the runtime does not report the pod's status").try(v.askRuntime()...)
}

func heldNetwork(v *facts) Verdict {
	e := &v.Ending
	switch failed := v.failedIn(event.LayerSandbox, event.LayerNetwork); {
	case len(e.Containers) > 0:
	case failed && (e.SandboxReady || e.NetworkHeld):
		return state("its sandbox does not stop: the runtime cannot tear down the pod's network").try(v.checkNetwork()...)
	case failed:
		f := state("the runtime cannot stop or remove its sandbox").try(v.askRuntime()...)
		f.Layer, f.Confidence = LayerRuntime, Observed
		return f
	case v.Manager == nil && (e.KubeletTerminates || v.Ownership() == view.OwnedByOther) && e.NetworkHeld:
		return state("its sandbox has stopped, the pod's network has not been torn down").try(v.checkNetwork()...)
	}
	return Verdict{}
}

// heldVolumes examines a pod whose containers have exited and whose volumes are
// still there. They are unmounted last: a mount alone shows nothing of what the pod
// waits for, unless nothing else of it is left.
func heldVolumes(v *facts) Verdict {
	e, f := &v.Ending, state("its volumes cannot be unmounted")
	switch {
	case len(e.Containers) > 0:
		return Verdict{}
	case v.failedIn(event.LayerVolume):
	case v.failedIn(event.LayerHost) && len(e.Mounts) > 0:
		f.Confidence = Likely
	case v.Manager == nil && v.Ownership() == view.OwnedByKubelet && e.KubeletTerminates && !e.SandboxReady && len(e.Mounts) > 0:
		if e.Sandbox != "" {
			f.Confidence = Likely
		}
	default:
		return Verdict{}
	}
	if len(e.Mounts) > 0 {
		f.Evidence[0].Message, f.Next = e.Mounts[0]+" is still mounted", []string{"fuser -vm " + e.Mounts[0]}
	}
	return f
}

// keepsTask is in containerd's answer to the removal of a container that it calls
// exited, and whose task it keeps: the client of its StartContainer went away after
// the task was created.
const keepsTask = "cannot delete running task"

// failedWorker examines the process that terminates the pod.
func failedWorker(v *facts) Verdict {
	e := &v.Ending
	switch w := &v.Worker; {
	case v.Ownership() == view.OwnedByExited:
		return state("its owner, podctl %s, exited while it terminated the pod", v.Owner.Instance).try("podctl rm " + v.CLIName())
	case v.StopRecorded():
		return state("its owner, podctl %s, was terminating the pod, and does not answer", v.Owner.Instance).try("podctl doctor").likely()
	case v.Manager == nil && !e.SandboxReady && len(e.Containers) > 0:
		f := state("its sandbox has stopped, its containers have not").try(v.orForce()...)
		f.Layer = LayerRuntime
		return f
	case v.Manager == nil:
	case strings.Contains(e.LastError.Text, keepsTask):
		f := state("containerd does not remove a container that has exited: it still has a task for it, which only a restart of containerd ends").try("systemctl restart containerd")
		f.Layer = LayerRuntime
		return f
	case !e.LastError.IsZero() && w.Operation == "":
		why := "the last " + e.LastError.Op + " failed"
		if left := w.NextWake.Sub(v.now); !w.NextWake.IsZero() && left > 0 {
			why += ", retry in " + age(left)
		}
		return v.explained(state("%s", why).try(v.orForce()...))
	case v.overdue() && -*e.GraceLeft > slowCall:
		return v.explained(state("the grace period ended %s ago, and %s is still in progress", age(-*e.GraceLeft), w.Operation).try(v.orForce()...))
	}
	return Verdict{}
}

// explained adds what the last error of the pod's worker means.
func (v *facts) explained(f Verdict) Verdict {
	if said := Explain(v.Ending.LastError.Text, StepStop); len(said) > 0 && slices.Contains(StuckLayers(), said[0].Layer) {
		f.Layer, f.Confidence, f.Evidence = said[0].Layer, said[0].Confidence, append(f.Evidence, Evidence{Kind: KindMeaning, Message: said[0].Meaning})
		if !said[0].needsName() { // the last resort meets the same
			f.Next = []string{said[0].Hint}
		}
	}
	return f
}

func hiddenProcesses(v *facts) Verdict {
	for _, c := range v.Ending.Containers {
		if c.PID != 0 && c.Hidden && (v.overdue() || v.Manager == nil) {
			return state("the processes of %s are not visible from here: podctl runs in another PID namespace than the runtime, or without permission", c.Name).
				try("run podctl terminating as root in the runtime's PID namespace")
		}
	}
	return Verdict{}
}

// lateKubelet examines a pod of the kubelet, which waits for the runtime: that has to
// kill the containers when the grace period ends. Where that is not known, nothing is
// known to be stuck.
func lateKubelet(v *facts) Verdict {
	e := &v.Ending
	switch {
	case !e.KubeletTerminates || len(e.Containers) == 0 && !e.SandboxReady:
		return Verdict{}
	case v.overdue() && -*e.GraceLeft > slowCall && len(e.Containers) == 0:
		f := state("the grace period ended %s ago, and its sandbox has not stopped", age(-*e.GraceLeft)).try(v.checkNetwork()...)
		f.Layer = LayerNetwork
		return f
	case v.overdue() && -*e.GraceLeft > slowCall:
		return state("the grace period ended %s ago, and %s has not exited", age(-*e.GraceLeft), e.Containers[0].Name).try(v.askRuntime()...)
	case e.GraceLeft != nil || len(e.Containers) == 0:
		return Verdict{}
	}
	f := state("the kubelet terminates it, and %s has not exited", e.Containers[0].Name)
	if grace := e.Containers[0].Grace; grace != nil {
		f.Evidence[0].Message += "; its grace period is " + age(*grace)
	}
	if f.Layer, f.Confidence = LayerNone, Observed; e.Unnamed && !e.Counted {
		f.Confidence = Likely
	}
	return f
}

// force returns the last resort of the pod's owner. podctl rm refuses pods of a
// kubelet, which removes them itself once their processes have exited.
func (v *facts) force() []string {
	switch {
	case v.Ownership().IsPodctl():
		return []string{"podctl rm --force " + v.CLIName()}
	case v.Ownership() == view.OwnedByOther && v.Ending.Sandbox != "":
		return []string{"crictl rmp --force " + pod.ShortID(v.Ending.Sandbox)}
	case v.Ownership() == view.OwnedByKubelet:
		for _, c := range v.Ending.Containers {
			if c.Known() && !c.Gone && !c.Process.State.Ended() {
				return []string{fmt.Sprintf("kill -KILL %d", c.PID)}
			}
		}
	}
	return nil
}

// orForceShim returns commands, and the last resort for a shim that does not
// work after them: SIGKILL does not reach the runtime through it.
func (v *facts) orForceShim(shim proc.Process, first ...string) []string {
	if v.Ownership().IsPodctl() {
		return v.orForce(first...)
	}
	return withKillShim(shim, first...)
}

// withKillShim returns commands, and after them the end of a shim through which nothing can
// be stopped, by podctl rm --force neither. containerd removes the container of a shim that
// has exited.
func withKillShim(shim proc.Process, first ...string) []string {
	if strings.HasPrefix(shim.Comm, "containerd-shim") {
		return append(first, fmt.Sprintf("kill -KILL %d", shim.PID))
	}
	return first
}

// orForce returns commands, and the last resort after them.
func (v *facts) orForce(first ...string) []string { return append(first, v.force()...) }

// hurry ends a grace period early.
func (v *facts) hurry(c *view.ContainerProcess) []string {
	switch {
	case v.Ownership() == view.OwnedByPodctl:
		return []string{"podctl stop --grace-period 1 " + v.CLIName()}
	case c.PID != 0 && c.Known():
		return []string{fmt.Sprintf("kill -KILL %d", c.PID)}
	}
	return v.force()
}

// checkRuntime returns the commands to examine a runtime that does not answer a call.
func (v *facts) checkRuntime() []string {
	next := []string{"podctl pleg check"}
	if v.Server.LogsGoroutines() {
		next = append(next, fmt.Sprintf("kill -USR1 %d (%s logs its goroutines)", v.Server.PID, v.Server.Comm))
	}
	return next
}

func (v *facts) askRuntime() []string { return v.orForce(v.checkRuntime()...) }

func (v *facts) checkNetwork() []string {
	return v.orForce("crictl inspectp " + pod.ShortID(v.Ending.Sandbox))
}

// Thaw returns the command that thaws the cgroup of a file that view.FrozenBy returned.
func Thaw(file string) string {
	if filepath.Base(file) == view.FreezerState {
		return "echo THAWED > " + file
	}
	return "echo 0 > " + file
}
