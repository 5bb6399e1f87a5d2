package why

import (
	"fmt"
	"strings"

	"github.com/podctl/podctl/internal/pods/view"
)

// waitLayers are the layers of pods that podctl has not begun to start, by the reason, where
// that is not admission.
var waitLayers = map[string]Layer{
	"LockFailed": LayerLock, "RuntimeUnavailable": LayerRuntime, "PredecessorUnknown": LayerRuntime,
	"RemovalFailed": LayerWorker,
}

func waitsForAdmission(v *facts) Verdict {
	w := &v.Worker
	if w.Rejected == "" && w.WaitReason == "" {
		return Verdict{}
	}
	reason := w.WaitReason
	if reason == "" {
		reason = "Rejected"
	}
	f := found(Evidence{Kind: KindError, Source: reason, Message: w.Rejected, Since: v.since})
	f.Layer = waitLayers[w.WaitReason]
	if said := Explain(w.Rejected, v.step); v.step == StepDevice || len(said) > 0 && said[0].Step == StepDevice {
		f.Layer, f.Step = LayerDevice, StepDevice
	}
	if w.Advice != "" {
		f.Next = []string{w.Advice}
	}
	return f
}

func unmetGate(v *facts) Verdict {
	if v.Worker.NotReady == "" {
		return Verdict{}
	}
	return found(Evidence{Kind: KindCondition, Subject: "readiness gate", Message: v.Worker.NotReady})
}

func networkNotReady(v *facts) Verdict {
	if v.NetworkNotReady == "" || v.ReadySandbox() != nil || v.Spec != nil && v.Spec.HostNetwork {
		return Verdict{}
	}
	return Verdict{Evidence: []Evidence{{Kind: KindCondition, Source: "runtime", Subject: "NetworkReady", Message: v.NetworkNotReady}}, Next: []string{"podctl doctor"}, Step: StepNetwork}
}

// runtimeCalls are the CRI calls by the step that makes them.
var runtimeCalls = map[Step]string{StepSandbox: "RunPodSandbox", StepCreate: "CreateContainer", StepStart: "StartContainer"}

func callInFlight(v *facts) Verdict {
	call := runtimeCalls[v.step]
	switch {
	case call == "" || v.since.IsZero() || v.now.Sub(v.since) < slowStep || v.Hidden != nil:
		return Verdict{}
	case v.Worker.Start.Step != "":
		return found(inContainer(v.position.container, Evidence{Kind: KindCall, Subject: call, Since: v.since}), v.checkRuntime()...)
	}
	return Verdict{}
}

func silentRuntime(v *facts) Verdict {
	for _, u := range v.Unread {
		if u.Layer == view.LayerRuntime {
			return found(Evidence{Kind: KindError, Source: "runtime", Message: u.Why}, "podctl doctor")
		}
	}
	return Verdict{}
}

// unmanaged examines a pod that no owner starts which answers. What the step shows is what was done.
func unmanaged(v *facts) Verdict {
	if v.Manager != nil || v.Ownership() == view.OwnedByKubelet || v.ReadySandbox() == nil || v.now.Sub(v.since) < slowProcess && v.Ownership() != view.OwnedBySuspended {
		return Verdict{}
	}
	message := "its sandbox is ready, and it has no container"
	if c := v.position.container; c != nil && c.ID == "" && c.State != view.Created {
		message = "has no container yet"
	} else if c != nil {
		message = "was created, and not started"
	}
	f := found(inContainer(v.position.container, Evidence{Kind: KindState, Since: v.since}))
	switch v.Ownership() {
	case view.OwnedBySuspended:
		message += fmt.Sprintf("; its owner, podctl %s (pid %d), is suspended (state T)", v.Owner.Instance, v.Verdict.Process.PID)
		f.Next = []string{fmt.Sprintf("kill -CONT %d", v.Verdict.Process.PID)}
	case view.OwnedBySilent:
		message += "; its owner, podctl " + v.Owner.Instance + ", does not answer, or is not visible"
		f.Confidence, f.Next = Likely, []string{"podctl doctor"}
	case view.OwnedByExited:
		message += "; its owner, a podctl process, has exited"
		f.Next = []string{"podctl orphans " + v.CLIName()}
	case view.OwnedByOther, view.OwnedByPodctl, view.OwnedByKubelet:
		message += "; no owner is known that does it"
		f.Next = []string{"podctl rm " + v.CLIName()}
	}
	f.Evidence[0].Message = message
	return f
}

func inProgress(v *facts) Verdict {
	limit := slowProcess
	if v.step == StepPull || v.step == StepInit || v.step == StepQueue || v.Worker.Start.Step != "" {
		limit = slowStep
	}
	if v.since.IsZero() || v.now.Sub(v.since) >= limit {
		return Verdict{}
	}
	return found(inContainer(v.position.container, Evidence{Kind: KindCall, Subject: string(v.step), Since: v.since}))
}

func unknownCause(v *facts) Verdict {
	looked := []string{"its paths", "the runtime's status"}
	if v.Hidden == nil {
		looked = append([]string{"processes below the runtime"}, looked...)
	}
	f := found(Evidence{Kind: KindLooked, Message: "not known: nothing shows in " + strings.Join(looked, ", ")})
	if v.Hidden != nil {
		f.Evidence = append(f.Evidence, Evidence{Kind: KindLooked, Message: "its processes are not visible: " + v.Hidden.Error()})
	}
	return f
}
