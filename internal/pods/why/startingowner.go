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

func waitsForAdmission(v *facts) finding {
	w := &v.Worker
	if w.Rejected == "" && w.WaitReason == "" {
		return finding{}
	}
	reason := w.WaitReason
	if reason == "" {
		reason = "Rejected"
	}
	f := found(Evidence{Kind: KindError, Source: reason, Message: w.Rejected, Since: v.since})
	f.layer = waitLayers[w.WaitReason]
	if said := Explain(w.Rejected, v.step); v.step == StepDevice || len(said) > 0 && said[0].Step == StepDevice {
		f.layer, f.step = LayerDevice, StepDevice
	}
	if w.Advice != "" {
		f.next = []string{w.Advice}
	}
	return f
}

func unmetGate(v *facts) finding {
	if v.Worker.NotReady == "" {
		return finding{}
	}
	return found(Evidence{Kind: KindCondition, Subject: "readiness gate", Message: v.Worker.NotReady})
}

func networkNotReady(v *facts) finding {
	if v.NetworkNotReady == "" || v.ReadySandbox() != nil || v.Spec != nil && v.Spec.HostNetwork {
		return finding{}
	}
	return finding{evidence: []Evidence{{Kind: KindCondition, Source: "runtime", Subject: "NetworkReady", Message: v.NetworkNotReady}}, next: []string{"podctl doctor"}, step: StepNetwork}
}

// runtimeCalls are the CRI calls by the step that makes them.
var runtimeCalls = map[Step]string{StepSandbox: "RunPodSandbox", StepCreate: "CreateContainer", StepStart: "StartContainer"}

func callInFlight(v *facts) finding {
	call := runtimeCalls[v.step]
	switch {
	case call == "" || v.since.IsZero() || v.now.Sub(v.since) < slowStep || v.Hidden != nil:
		return finding{}
	case v.Worker.Start.Step != "":
		return found(inContainer(v.position.container, Evidence{Kind: KindCall, Subject: call, Since: v.since}), v.checkRuntime()...)
	}
	return finding{}
}

func silentRuntime(v *facts) finding {
	for _, u := range v.Unread {
		if u.Layer == view.LayerRuntime {
			return found(Evidence{Kind: KindError, Source: "runtime", Message: u.Why}, "podctl doctor")
		}
	}
	return finding{}
}

// unmanaged examines a pod that no owner starts which answers. What the step shows is what was done.
func unmanaged(v *facts) finding {
	if v.Manager != nil || v.Ownership() == view.OwnedByKubelet || v.ReadySandbox() == nil || v.now.Sub(v.since) < slowProcess && v.Ownership() != view.OwnedBySuspended {
		return finding{}
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
		f.next = []string{fmt.Sprintf("kill -CONT %d", v.Verdict.Process.PID)}
	case view.OwnedBySilent:
		message += "; its owner, podctl " + v.Owner.Instance + ", does not answer, or is not visible"
		f.sure, f.next = Likely, []string{"podctl doctor"}
	case view.OwnedByExited:
		message += "; its owner, a podctl process, has exited"
		f.next = []string{"podctl orphans " + v.CLIName()}
	case view.OwnedByOther, view.OwnedByPodctl, view.OwnedByKubelet:
		message += "; no owner is known that does it"
		f.next = []string{"podctl rm " + v.CLIName()}
	}
	f.evidence[0].Message = message
	return f
}

func inProgress(v *facts) finding {
	limit := slowProcess
	if v.step == StepPull || v.step == StepInit || v.step == StepQueue || v.Worker.Start.Step != "" {
		limit = slowStep
	}
	if v.since.IsZero() || v.now.Sub(v.since) >= limit {
		return finding{}
	}
	return found(inContainer(v.position.container, Evidence{Kind: KindCall, Subject: string(v.step), Since: v.since}))
}

func unknownCause(v *facts) finding {
	looked := []string{"its paths", "the runtime's status"}
	if v.Hidden == nil {
		looked = append([]string{"processes below the runtime"}, looked...)
	}
	f := found(Evidence{Kind: KindLooked, Message: "not known: nothing shows in " + strings.Join(looked, ", ")})
	if v.Hidden != nil {
		f.evidence = append(f.evidence, Evidence{Kind: KindLooked, Message: "its processes are not visible: " + v.Hidden.Error()})
	}
	return f
}
