package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/pods/why"
)

// The words of package why, under the names of this one.
type (
	Layer      = why.Layer
	Confidence = why.Confidence
)

const (
	LayerNone, LayerWorker, LayerRuntime, LayerShim, LayerHook      = why.LayerNone, why.LayerWorker, why.LayerRuntime, why.LayerShim, why.LayerHook
	LayerCgroup, LayerProcess, LayerVolume, LayerNetwork, LayerLock = why.LayerCgroup, why.LayerProcess, why.LayerVolume, why.LayerNetwork, why.LayerLock
	LayerAdmission, LayerConfig, LayerDevice, LayerDisk, LayerImage = why.LayerAdmission, why.LayerConfig, why.LayerDevice, why.LayerDisk, why.LayerImage
	LayerRegistry, LayerProbe, LayerApplication, LayerKernel        = why.LayerRegistry, why.LayerProbe, why.LayerApplication, why.LayerKernel
	Observed, Likely, Unknown                                       = why.Observed, why.Likely, why.Unknown
)

// StuckLayers returns every layer that a terminating pod can be stuck in.
func StuckLayers() []Layer {
	return []Layer{LayerWorker, LayerRuntime, LayerShim, LayerHook, LayerCgroup, LayerProcess, LayerVolume, LayerNetwork, LayerLock}
}

// Verdict is the layer for which a pod waits, and the next commands to try.
type Verdict struct {
	Layer      Layer
	Confidence Confidence
	Why        string
	Next       []string
}

// slowCall is how long a CRI call may take beyond the grace period before it
// is what a pod waits for; slowKill is the same for delivering a signal.
const (
	slowCall = 10 * time.Second
	slowKill = 2 * time.Second
	// slowLock is how long a lock may be waited for before that is what a pod waits for.
	slowLock = time.Second
)

// Judge returns the innermost layer for which there is evidence, because the
// layers around it wait for it.
func Judge(f Facts, now time.Time) Verdict {
	for _, rule := range []func(Facts, time.Time) (Verdict, bool){
		judgeSuspended, judgeContainers, judgeHooks, judgeLocks, judgeCalls, judgeStatus, judgeNetwork, judgeVolumes, judgeWorker, judgeHidden, judgeKubelet,
	} {
		if v, found := rule(f, now); found {
			return v
		}
	}
	return Verdict{Layer: LayerNone, Confidence: Observed}
}

func (f Facts) overdue() bool { return f.GraceLeft != nil && *f.GraceLeft < 0 }

// judgeCalls examines the CRI calls that the pod's podctl waits for.
func judgeCalls(f Facts, now time.Time) (Verdict, bool) {
	if f.Worker == nil {
		return Verdict{}, false
	}
	for _, c := range f.Worker.Calls {
		took := now.Sub(c.Since)
		limit := slowCall
		if c.Method == "StopContainer" || c.Method == execSync {
			limit += time.Duration(f.Worker.GraceSeconds) * time.Second
		}
		if took < limit {
			continue
		}
		what := c.Method
		if c.Container != "" {
			what += " of " + c.Container
		}
		why := fmt.Sprintf("%s has been in flight for %s", what, age(took))
		if (c.Method == "StopPodSandbox" || c.Method == "RemovePodSandbox") && len(f.Containers) == 0 {
			return Verdict{LayerNetwork, Likely, why + ": it tears down the pod's network", f.checkNetwork()}, true
		}
		return Verdict{LayerRuntime, Observed, why, f.askRuntime()}, true
	}
	return Verdict{}, false
}

// failedIn reports whether the worker's last operation failed in a layer.
func (f Facts) failedIn(layers ...event.Layer) bool {
	if f.Worker == nil || f.Worker.LastError.IsZero() {
		return false
	}
	return slices.Contains(layers, f.Worker.LastError.Layer)
}

// judgeStatus examines a pod whose status the runtime does not report: podctl
// cannot continue without it.
func judgeStatus(f Facts, _ time.Time) (Verdict, bool) {
	if !f.failedIn(event.LayerStatus, event.LayerRuntime) {
		return Verdict{}, false
	}
	return Verdict{LayerRuntime, Observed, "the runtime does not report the pod's status", f.askRuntime()}, true
}

// judgeNetwork examines a pod of which only the sandbox is left.
func judgeNetwork(f Facts, _ time.Time) (Verdict, bool) {
	switch {
	case len(f.Containers) > 0:
		return Verdict{}, false
	case f.failedIn(event.LayerSandbox, event.LayerNetwork) && (f.SandboxReady || f.NetworkHeld):
		return Verdict{LayerNetwork, Likely, "its sandbox does not stop: the runtime cannot tear down the pod's network", f.checkNetwork()}, true
	case f.failedIn(event.LayerSandbox, event.LayerNetwork):
		return Verdict{LayerRuntime, Observed, "the runtime cannot stop or remove its sandbox", f.askRuntime()}, true
	case f.Worker == nil && (f.KubeletTerminates || f.Owner == inventory.OwnedByOther) && f.NetworkHeld:
		return Verdict{LayerNetwork, Likely, "its sandbox has stopped, the pod's network has not been torn down", f.checkNetwork()}, true
	}
	return Verdict{}, false
}

// judgeVolumes examines a pod whose containers have exited and whose volumes are
// still there. They are unmounted last: a mount alone shows nothing of what the pod
// waits for, unless nothing else of it is left.
func judgeVolumes(f Facts, _ time.Time) (Verdict, bool) {
	v := Verdict{Layer: LayerVolume, Confidence: Observed, Why: "its volumes cannot be unmounted"}
	switch {
	case len(f.Containers) > 0:
		return Verdict{}, false
	case f.failedIn(event.LayerVolume):
	case f.failedIn(event.LayerHost) && len(f.Mounts) > 0:
		v.Confidence = Likely
	case f.Worker == nil && f.Owner == inventory.OwnedByKubelet && f.KubeletTerminates && !f.SandboxReady && len(f.Mounts) > 0:
		if f.Sandbox != "" {
			v.Confidence = Likely
		}
	default:
		return Verdict{}, false
	}
	if len(f.Mounts) > 0 {
		v.Why = f.Mounts[0] + " is still mounted"
		v.Next = []string{"fuser -vm " + f.Mounts[0]}
	}
	return v, true
}

// keepsTask is in containerd's answer to the removal of a container that it calls
// exited, and whose task it keeps: the client of its StartContainer went away after
// the task was created.
const keepsTask = "cannot delete running task"

// judgeSuspended examines a pod whose podctl process was suspended while it terminated the pod: what
// the runtime was asked for goes on, nothing else does.
func judgeSuspended(f Facts, _ time.Time) (Verdict, bool) {
	if f.Owner != inventory.OwnedBySuspended || !f.stopRecorded() {
		return Verdict{}, false
	}
	return Verdict{LayerWorker, Observed, fmt.Sprintf("its owner, podctl %s (pid %d), is suspended (state T) while it terminates the pod", f.OwnerName, f.OwnerPID),
		[]string{fmt.Sprintf("kill -CONT %d", f.OwnerPID)}}, true
}

// judgeWorker examines the process that terminates the pod.
func judgeWorker(f Facts, now time.Time) (Verdict, bool) {
	switch w := f.Worker; {
	case f.Owner == inventory.OwnedByExited:
		return Verdict{LayerWorker, Observed, "its owner, podctl " + f.OwnerName + ", exited while it terminated the pod", []string{"podctl rm " + f.Name}}, true
	case f.stopRecorded():
		return Verdict{LayerWorker, Likely, "its owner, podctl " + f.OwnerName + ", was terminating the pod, and does not answer", []string{"podctl doctor"}}, true
	case w == nil && !f.SandboxReady && len(f.Containers) > 0:
		return Verdict{LayerRuntime, Observed, "its sandbox has stopped, its containers have not", f.orForce()}, true
	case w == nil:
		return Verdict{}, false
	case strings.Contains(w.LastError.Text, keepsTask):
		return Verdict{LayerRuntime, Observed, "containerd does not remove a container that has exited: it still has a task for it, which only a restart of containerd ends",
			[]string{"systemctl restart containerd"}}, true
	case !w.LastError.IsZero() && w.Operation == "":
		why := "the last " + w.LastError.Op + " failed"
		if left := w.NextWake.Sub(now); !w.NextWake.IsZero() && left > 0 {
			why += ", retry in " + age(left.Round(time.Second))
		}
		return Verdict{LayerWorker, Observed, why, f.orForce()}, true
	case f.overdue() && -*f.GraceLeft > slowCall:
		return Verdict{LayerWorker, Observed, fmt.Sprintf("the grace period ended %s ago, and %s is still in progress", age(-*f.GraceLeft), w.Operation), f.orForce()}, true
	}
	return Verdict{}, false
}

// judgeHidden says that processes could not be examined.
func judgeHidden(f Facts, _ time.Time) (Verdict, bool) {
	for _, c := range f.Containers {
		if c.PID != 0 && c.Hidden && (f.overdue() || f.Worker == nil) {
			return Verdict{LayerNone, Unknown, fmt.Sprintf("the processes of %s are not visible from here: podctl runs in another PID namespace than the runtime, or without permission", c.Name),
				[]string{"run podctl terminating as root in the runtime's PID namespace"}}, true
		}
	}
	return Verdict{}, false
}

// judgeKubelet examines a pod of the kubelet, which waits for the runtime: that has to
// kill the containers when the grace period ends. Where that is not known, nothing is
// known to be stuck.
func judgeKubelet(f Facts, _ time.Time) (Verdict, bool) {
	switch {
	case !f.KubeletTerminates || len(f.Containers) == 0 && !f.SandboxReady:
		return Verdict{}, false
	case f.overdue() && -*f.GraceLeft > slowCall:
		why := fmt.Sprintf("the grace period ended %s ago, and ", age(-*f.GraceLeft))
		if len(f.Containers) == 0 {
			return Verdict{LayerNetwork, Likely, why + "its sandbox has not stopped", f.checkNetwork()}, true
		}
		return Verdict{LayerRuntime, Likely, why + f.Containers[0].Name + " has not exited", f.askRuntime()}, true
	case f.GraceLeft != nil || len(f.Containers) == 0:
		return Verdict{}, false
	}
	c := f.Containers[0]
	why := "the kubelet terminates it, and " + c.Name + " has not exited"
	if c.Grace != nil {
		why += "; its grace period is " + age(*c.Grace)
	}
	if f.Unnamed && !f.Counted {
		return Verdict{Layer: LayerNone, Confidence: Likely, Why: why}, true
	}
	return Verdict{Layer: LayerNone, Confidence: Observed, Why: why}, true
}

func inKernel(waitChannel string) string {
	if waitChannel == "" {
		return ""
	}
	return " in " + waitChannel
}

// age rounds to seconds: times here are seconds to hours.
func age(d time.Duration) string { return d.Round(time.Second).String() }
