package starting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/describe"
	"github.com/podctl/podctl/internal/pods/diagnose"
)

// waitLayers are the layers of pods that podctl has not begun to start, by the reason, where
// that is not admission.
var waitLayers = map[string]diagnose.Layer{
	"LockFailed": diagnose.LayerLock, "RuntimeUnavailable": diagnose.LayerRuntime, "PredecessorUnknown": diagnose.LayerRuntime,
	"RemovalFailed": diagnose.LayerWorker,
}

func waitsForAdmission(v *view) finding {
	w := v.Worker
	if w == nil || w.Rejected == "" && w.WaitReason == "" {
		return finding{}
	}
	reason := w.WaitReason
	if reason == "" {
		reason = "Rejected"
	}
	f := found(Evidence{Kind: KindError, Source: reason, Message: w.Rejected, Since: v.since})
	f.layer = waitLayers[w.WaitReason]
	if cause, known := classify(w.Rejected, v.step); v.step == StepDevice || known && cause.step == StepDevice {
		f.layer, f.step = diagnose.LayerDevice, StepDevice
	}
	if w.Advice != "" {
		f.next = []string{w.Advice}
	}
	return f
}

func stalledPull(v *view) finding {
	for _, p := range v.Pulls {
		if p.Measured > 0 && p.Rate == 0 && !p.Unpacks && v.now.Sub(p.Since) > slowPull {
			return finding{evidence: []Evidence{p.evidence()}, next: on("podctl pull ", p.Image)}
		}
	}
	if p := v.Unnamed; p != nil && v.isPulling() && p.Measured > 0 && p.Rate == 0 {
		return finding{evidence: []Evidence{p.evidence()}, next: on("podctl pull ", p.Image)}
	}
	return finding{}
}

// isPulling reports whether an image of the pod has been pulled for a while, as far as its owner
// says.
func (v *view) isPulling() bool {
	if v.step != StepPull || v.now.Sub(v.since) < slowPull {
		return false
	}
	if v.Worker != nil {
		return v.Worker.Start.Step == pod.StepPull
	}
	return v.position.container != nil && isPlain(v.position.container.Reason)
}

// silentPull examines a pull of which the runtime has nothing yet: it has one as soon as the
// registry has sent anything. A pod of a kubelet may wait for the pull of another image first,
// of which there is something then.
func silentPull(v *view) finding {
	ofPodctl := v.Worker != nil && v.PullsListed && len(v.Pulls) == 0
	if !v.isPulling() || !ofPodctl && !v.NoPull {
		return finding{}
	}
	e := Evidence{Kind: KindPull, Subject: v.image(), Message: "of which the registry has sent nothing", Since: v.since}
	return finding{evidence: []Evidence{of(v.position.container, e)}, next: on("podctl pull ", v.image())}
}

func activePull(v *view) finding {
	switch {
	case len(v.Pulls) > 0:
		return finding{evidence: []Evidence{v.Pulls[0].evidence()}}
	case v.Unnamed != nil && v.isPulling():
		return finding{evidence: []Evidence{v.Unnamed.evidence()}, sure: diagnose.Unknown}
	}
	return finding{}
}

func (p *Pull) evidence() Evidence {
	e := Evidence{Kind: KindPull, Subject: p.Image, Bytes: p.Bytes, Total: p.Total, Rate: p.Rate, Since: p.Since}
	switch {
	case p.Unpacks:
		e.Message = "which is received, and is unpacked"
	case p.Number > 0 && p.Rate == 0:
		e.Message = fmt.Sprintf("one of %d of which the runtime does not name the image, and which receive nothing", p.Number)
	case p.Number > 0:
		e.Message = fmt.Sprintf("one of %d of which the runtime does not name the image, and which receive something", p.Number)
	}
	return e
}

func runningHook(v *view) finding {
	if v.step != StepHook {
		return finding{}
	}
	c := v.position.container
	if c == nil || v.Worker == nil && !c.Starting {
		return finding{}
	}
	if v.Worker != nil && v.Worker.Start.Step == "" {
		return finding{} // it has ended
	}
	return found(of(c, Evidence{Kind: KindCall, Subject: joined(" ", "postStart hook", c.PostStart), Since: v.since}), "podctl exec "+v.target()+" -- ps")
}

// failedHook examines a hook for which the container was stopped, or is being stopped.
func failedHook(v *view) finding {
	c := v.position.container
	if c == nil {
		return finding{}
	}
	from, to := c.StartedAt, v.now
	if end := v.end(); end != nil && c.State != stateRunning {
		from, to = end.StartedAt, end.FinishedAt
	}
	e, failed := v.event(event.FailedPostStart, from, to)
	if !failed || from.IsZero() {
		return finding{}
	}
	f := found(of(c, Evidence{Kind: KindError, Source: e.Reason, Message: e.Message, Since: e.Time}), "podctl logs "+v.target())
	f.step = StepHook
	return f
}

// event returns the newest event of the container of the position with a reason, of a time.
func (v *view) event(reason string, from, to time.Time) (describe.Event, bool) {
	for _, e := range slices.Backward(v.Events) {
		if e.Reason == reason && e.Container == v.containerName() && !e.Time.Before(from) && !e.Time.After(to) {
			return e, true
		}
	}
	return describe.Event{}, false
}

// end returns the end that counts: that of the last attempt of the container of the position.
func (v *view) end() *describe.End {
	c := v.position.container
	if c == nil || c.State == stateRunning && v.step != StepRestart && v.step != StepInit && v.step != StepStartupProbe && v.step != StepReadiness {
		return nil
	}
	return lastEnd(c)
}

func (v *view) exitEvidence(end *describe.End) []Evidence {
	c := v.position.container
	code := end.ExitCode
	text := fmt.Sprintf("exited %d", code)
	if !end.StartedAt.IsZero() && !end.FinishedAt.IsZero() {
		text += " after " + age(end.FinishedAt.Sub(end.StartedAt))
	}
	all := []Evidence{of(c, Evidence{Kind: KindExit, Message: joined(": ", text, end.Cause.Text), ExitCode: &code, Since: end.FinishedAt})}
	for _, more := range end.Cause.Evidence {
		all = append(all, of(c, Evidence{Kind: KindExit, Message: more}))
	}
	if len(c.LogLines) > 0 {
		all = append(all, of(c, Evidence{Kind: KindLog, Message: c.LogLines[len(c.LogLines)-1]}))
	}
	return all
}

func killedForMemory(v *view) finding {
	end := v.end()
	if end == nil {
		return finding{}
	}
	f := finding{evidence: v.exitEvidence(end), next: []string{"podctl top containers " + v.Name}}
	switch end.Cause.Kind {
	case describe.CauseOOM, describe.CauseHostOOM:
		f.sure = end.Cause.Confidence
	case describe.CauseExit:
		if f.sure = diagnose.Likely; !end.Cause.LostProcess {
			return finding{}
		}
	case describe.CauseCompleted, describe.CauseCrash, describe.CauseStart, describe.CauseStop, describe.CauseLiveness, describe.CauseSignal, describe.CauseLost:
		return finding{}
	}
	return f
}

func killedForProbe(v *view) finding {
	end := v.end()
	if end == nil {
		return finding{}
	}
	f := finding{evidence: append(v.exitEvidence(end), v.probeEvidence()...), next: []string{"podctl logs " + v.target()}}
	if e, killed := v.event(event.Killing, end.StartedAt, end.FinishedAt); killed && strings.Contains(e.Message, " probe") {
		f.evidence = append([]Evidence{of(v.position.container, Evidence{Kind: KindError, Source: e.Reason, Message: e.Message, Since: e.Time})}, f.evidence...)
		f.sure = diagnose.Observed
		return f
	}
	c := v.position.container
	probed := c.PostStart == "" && slices.ContainsFunc(c.Probes, func(p describe.Probe) bool { return p.Type != "readiness" })
	switch {
	case v.Killed[end.ID] && probed:
		f.evidence = append([]Evidence{of(c, Evidence{Kind: KindLog, Source: "kubelet", Message: "the kubelet has stopped it, which it does to a container of a pod that should run for its probes"})}, f.evidence...)
		return f
	case end.Cause.Kind != describe.CauseLiveness:
		return finding{}
	}
	return f
}

func exits(v *view) finding {
	end := v.end()
	if end == nil {
		return finding{}
	}
	if v.position.container.State == stateRunning { // its last run says why it is not ready, if it was short
		return finding{}
	}
	f := finding{evidence: v.exitEvidence(end), next: []string{"podctl logs " + v.target()}}
	if v.Killed[end.ID] {
		f.layer, f.sure = diagnose.LayerNone, diagnose.Unknown
		f.evidence = append(f.evidence, of(v.position.container, Evidence{Kind: KindLog, Source: "kubelet", Message: "the kubelet has stopped it; why is not known"}))
		return f
	}
	switch end.Cause.Kind {
	case describe.CauseExit, describe.CauseCompleted, describe.CauseCrash:
		if f.sure = end.Cause.Confidence; end.Cause.Kind == describe.CauseCompleted && v.step == StepInit {
			return finding{}
		}
	case describe.CauseStart, describe.CauseOOM, describe.CauseHostOOM, describe.CauseStop, describe.CauseLiveness, describe.CauseSignal, describe.CauseLost:
		f.layer, f.sure = diagnose.LayerNone, diagnose.Unknown
	}
	return f
}

// owned is an error that the pod's owner or the runtime reports about it.
type owned struct {
	Evidence
	layer event.Layer // where it failed, "" if that is not known
}

// logErrorAge is how old an error in a log may be that still says what a pod waits for.
const logErrorAge = 3 * time.Minute

// errors returns what is reported, most specific first.
func (v *view) errors() []owned {
	var all []owned
	if c := v.position.container; c != nil {
		switch end := lastEnd(c); {
		case c.State == stateWaiting && c.Message != "" && !isPlain(c.Reason) && c.Reason != "CrashLoopBackOff":
			all = append(all, owned{Evidence: of(c, Evidence{Kind: KindError, Source: c.Reason, Message: c.Message})})
		case c.State != stateRunning && end != nil && end.Cause.Kind == describe.CauseStart:
			all = append(all, owned{Evidence: of(c, Evidence{Kind: KindError, Source: end.Reason, Message: end.Message, Since: end.FinishedAt})})
		}
	}
	if w := v.Worker; w != nil && !w.LastError.IsZero() && w.LastError.Layer != event.LayerBackOff {
		all = append(all, owned{Evidence{Kind: KindError, Source: "last " + w.LastError.Op, Message: w.LastError.Text, Since: w.LastDone}, w.LastError.Layer})
	}
	if l := v.LogError; l != nil && v.now.Sub(l.Time) < logErrorAge && (v.ready() == nil || v.position.container != nil && v.position.container.State != stateRunning) {
		all = append(all, owned{Evidence: l.evidence()})
	}
	return all
}

// layersOfFailures are the layers of what failed in a layer of podctl, where that alone
// decides.
var layersOfFailures = map[event.Layer]diagnose.Layer{
	event.LayerRuntime: diagnose.LayerRuntime, event.LayerStatus: diagnose.LayerRuntime, event.LayerVolume: diagnose.LayerVolume,
	event.LayerCgroup: diagnose.LayerCgroup, event.LayerNetwork: diagnose.LayerNetwork, event.LayerConfig: diagnose.LayerConfig, event.LayerHook: diagnose.LayerHook,
}

func namedByError(v *view) finding {
	var unnamed []Evidence
	for _, e := range v.errors() {
		cause, known := classify(e.Message, v.step)
		if !known {
			cause.layer = layersOfFailures[e.layer]
		}
		if cause.layer == "" {
			unnamed = append(unnamed, e.Evidence)
			continue
		}
		f := finding{evidence: []Evidence{e.Evidence}, layer: cause.layer, step: cause.step, next: v.nextFor(cause.layer)}
		if id, name := reservedFor(e.Message); id != "" {
			f.evidence = append(f.evidence, v.holderOf(id, name))
			f.next = []string{"crictl inspectp " + shortID(id)}
		}
		return f
	}
	if v.end() != nil && v.position.container.State != stateRunning {
		return finding{} // how it ended says more
	}
	return finding{evidence: unnamed, layer: diagnose.LayerNone, sure: diagnose.Unknown}
}

// nextFor returns the commands for a layer that an error names; none if those of describe
// serve.
func (v *view) nextFor(layer diagnose.Layer) []string {
	switch layer {
	case diagnose.LayerNetwork, diagnose.LayerRuntime, diagnose.LayerDisk:
		return []string{"podctl doctor"}
	case diagnose.LayerApplication, diagnose.LayerConfig, diagnose.LayerDevice, diagnose.LayerVolume:
		return []string{"podctl describe " + v.Name}
	case diagnose.LayerKernel:
		return []string{"podctl top containers " + v.Name}
	case diagnose.LayerHook:
		return []string{"podctl logs " + v.target()}
	case diagnose.LayerImage, diagnose.LayerRegistry:
		if c := v.position.container; c != nil {
			return on("podctl pull ", c.Image)
		}
	case diagnose.LayerNone, diagnose.LayerWorker, diagnose.LayerShim, diagnose.LayerCgroup, diagnose.LayerProcess, diagnose.LayerLock, diagnose.LayerAdmission, diagnose.LayerProbe:
	}
	return nil
}

// holderOf says which sandbox or container has a name that the runtime refuses.
func (v *view) holderOf(id, name string) Evidence {
	holder, listed := v.Holder[id]
	if !listed {
		return Evidence{Kind: KindName, Subject: name, Message: "is that of " + shortID(id) + ", which the runtime does not list: it is being made, or a call that timed out left it"}
	}
	return Evidence{Kind: KindName, Subject: name, Message: "is that of " + shortID(id) + ", of " + holder}
}

func runningInit(v *view) finding {
	if c := v.position.container; v.step == StepInit && c != nil && c.State == stateRunning && v.now.Sub(c.StartedAt) > slowStep {
		return found(of(c, Evidence{Kind: KindState, Message: "init container, has been running for " + age(v.now.Sub(c.StartedAt))}), "podctl logs -f "+v.target())
	}
	return finding{}
}

// probeEvidence are the probes of the container that fail.
func (v *view) probeEvidence() []Evidence {
	c := v.position.container
	if c == nil {
		return nil
	}
	var all []Evidence
	for _, p := range c.Probes {
		if p.Result != "" {
			all = append(all, of(c, Evidence{Kind: KindProbe, Subject: joined(" ", p.Type, "probe", p.Handler), Message: joined(", ", p.Result, times(p.Failures), p.Output)}))
		}
	}
	return all
}

func times(n int32) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d times in a row", n)
}

func failingProbe(v *view) finding {
	if v.step != StepStartupProbe && v.step != StepReadiness {
		return finding{}
	}
	return finding{evidence: v.probeEvidence(), next: []string{"podctl logs -f " + v.target()}}
}

func unready(v *view) finding {
	c := v.position.container
	if c == nil || v.step != StepStartupProbe && v.step != StepReadiness || v.now.Sub(c.StartedAt) < slowProcess {
		return finding{}
	}
	kind := "readiness"
	if v.step == StepStartupProbe {
		kind = "startup"
	}
	i := slices.IndexFunc(c.Probes, func(p describe.Probe) bool { return p.Type == kind })
	if i < 0 {
		return finding{}
	}
	return found(of(c, Evidence{Kind: KindProbe, Subject: joined(" ", kind, "probe", c.Probes[i].Handler), Message: "has not succeeded"}), "podctl logs -f "+v.target())
}

func unmetGate(v *view) finding {
	if v.Worker == nil || v.Worker.NotReady == "" {
		return finding{}
	}
	return found(Evidence{Kind: KindCondition, Subject: "readiness gate", Message: v.Worker.NotReady})
}

func networkNotReady(v *view) finding {
	if v.NotReady == "" || v.ready() != nil || v.Spec != nil && v.Spec.HostNetwork {
		return finding{}
	}
	return finding{evidence: []Evidence{{Kind: KindCondition, Source: "runtime", Subject: "NetworkReady", Message: v.NotReady}}, next: []string{"podctl doctor"}, step: StepNetwork}
}

// calls are the runtime's calls of podctl's steps.
var calls = map[Step]string{StepSandbox: "RunPodSandbox", StepCreate: "CreateContainer", StepStart: "StartContainer"}

func slowCall(v *view) finding {
	call := calls[v.step]
	switch {
	case call == "" || v.since.IsZero() || v.now.Sub(v.since) < slowStep || v.Hidden != nil:
		return finding{}
	case v.Worker != nil && v.Worker.Start.Step != "":
		return found(of(v.position.container, Evidence{Kind: KindCall, Subject: call, Since: v.since}), v.askRuntime()...)
	}
	return finding{}
}

func (v *view) askRuntime() []string {
	next := []string{"podctl pleg check"}
	if v.Server.LogsGoroutines() {
		next = append(next, fmt.Sprintf("kill -USR1 %d (%s logs its goroutines)", v.Server.PID, v.Server.Comm))
	}
	return next
}

func silentRuntime(v *view) finding {
	for _, u := range v.Unread {
		if u.Layer == "runtime" {
			return found(Evidence{Kind: KindError, Source: "runtime", Message: u.Why}, "podctl doctor")
		}
	}
	return finding{}
}

func nobodys(v *view) finding {
	if v.Worker != nil || v.By == diagnose.OwnerKubelet || v.ready() == nil || v.now.Sub(v.since) < slowProcess {
		return finding{}
	}
	message := "its sandbox is ready, and it has no container"
	if c := v.position.container; c != nil {
		message = "was created, and not started"
	}
	f := found(of(v.position.container, Evidence{Kind: KindState, Message: message + "; no owner is known that does it", Since: v.since}), "podctl rm "+v.Name)
	if v.By == diagnose.OwnerGonePodctl {
		f.evidence[0].Message = message + "; its owner, a podctl process, has exited"
	}
	return f
}

func inProgress(v *view) finding {
	limit := slowProcess
	if v.step == StepPull || v.step == StepInit || v.step == StepQueue || v.Worker != nil && v.Worker.Start.Step != "" {
		limit = slowStep
	}
	if v.since.IsZero() || v.now.Sub(v.since) >= limit {
		return finding{}
	}
	return found(of(v.position.container, Evidence{Kind: KindCall, Subject: string(v.step), Since: v.since}))
}

func notKnown(v *view) finding {
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
