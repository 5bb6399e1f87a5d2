package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
)

func runningHook(v *facts) Verdict {
	if v.step != StepHook {
		return Verdict{}
	}
	c := v.position.container
	if c == nil || v.Manager == nil && !c.Starting {
		return Verdict{}
	}
	if v.Manager != nil && v.Worker.Start.Step == "" {
		return Verdict{} // it has ended
	}
	return found(inContainer(c, Evidence{Kind: KindCall, Subject: pod.Joined(" ", "postStart hook", c.PostStart), Since: v.since}), "podctl exec "+v.target()+" -- ps")
}

// failedHook examines a hook for which the container was stopped, or is being stopped.
func failedHook(v *facts) Verdict {
	c := v.position.container
	if c == nil {
		return Verdict{}
	}
	from, to := c.StartedAt, v.now
	if end := v.end(); end != nil && c.State != view.Running {
		from, to = end.StartedAt, end.FinishedAt
	}
	e, failed := v.event(event.FailedPostStartHook, from, to)
	if !failed || from.IsZero() {
		return Verdict{}
	}
	f := found(inContainer(c, Evidence{Kind: KindError, Source: e.Reason, Message: e.Message, Since: e.Time}), "podctl logs "+v.target())
	f.Step = StepHook
	return f
}

// event returns the newest event of the container of the position with a reason, of a time.
func (v *facts) event(reason string, from, to time.Time) (view.Event, bool) {
	for _, e := range slices.Backward(v.Events) {
		if e.Reason == reason && e.Container == v.containerName() && !e.Time.Before(from) && !e.Time.After(to) {
			return e, true
		}
	}
	return view.Event{}, false
}

// end returns the end that counts: that of the last attempt of the container of the position.
func (v *facts) end() *view.End {
	c := v.position.container
	if c == nil || c.State == view.Running && v.step != StepRestart && v.step != StepInit && v.step != StepStartupProbe && v.step != StepReadiness {
		return nil
	}
	return c.LastEnd()
}

func (v *facts) exitEvidence(end *view.End) []Evidence {
	c := v.position.container
	code := end.ExitCode
	text := end.Text()
	if !end.StartedAt.IsZero() && !end.FinishedAt.IsZero() {
		text += " after " + age(end.FinishedAt.Sub(end.StartedAt))
	}
	all := []Evidence{inContainer(c, Evidence{Kind: KindExit, Message: pod.Joined(": ", text, end.Cause.Text), ExitCode: &code, Since: end.FinishedAt})}
	for _, more := range end.Cause.Evidence {
		all = append(all, inContainer(c, Evidence{Kind: KindExit, Message: more}))
	}
	if len(c.LogLines) > 0 {
		all = append(all, inContainer(c, Evidence{Kind: KindLog, Message: c.LogLines[len(c.LogLines)-1]}))
	}
	return all
}

func killedForMemory(v *facts) Verdict {
	end := v.end()
	if end == nil {
		return Verdict{}
	}
	f := Verdict{Evidence: v.exitEvidence(end), Next: []string{"podctl top containers " + v.CLIName()}}
	switch end.Cause.Kind {
	case view.CauseOOM, view.CauseHostOOM:
		f.Confidence = Confidence(end.Cause.Confidence)
	case view.CauseExit:
		if f.Confidence = Likely; !end.Cause.LostProcess {
			return Verdict{}
		}
	case view.CauseCompleted, view.CauseCrash, view.CauseStart, view.CauseStop, view.CauseLiveness, view.CauseSignal, view.CauseLost:
		return Verdict{}
	}
	return f
}

func killedForProbe(v *facts) Verdict {
	end := v.end()
	if end == nil {
		return Verdict{}
	}
	f := Verdict{Evidence: append(v.exitEvidence(end), v.probeEvidence()...), Next: []string{"podctl logs " + v.target()}}
	if e, killed := v.event(event.Killing, end.StartedAt, end.FinishedAt); killed && strings.Contains(e.Message, " probe") {
		f.Evidence = append([]Evidence{inContainer(v.position.container, Evidence{Kind: KindError, Source: e.Reason, Message: e.Message, Since: e.Time})}, f.Evidence...)
		f.Confidence = Observed
		return f
	}
	c := v.position.container
	probed := c.PostStart == "" && slices.ContainsFunc(c.Probes, func(p view.Probe) bool { return p.Type != view.ReadinessProbe })
	switch {
	case killedByKubelet(v.KubeletLog, end.ID) && probed:
		f.Evidence = append([]Evidence{inContainer(c, Evidence{Kind: KindLog, Source: "kubelet", Message: "the kubelet has stopped it, which it does to a container of a pod that should run for its probes"})}, f.Evidence...)
		return f
	case end.Cause.Kind != view.CauseLiveness:
		return Verdict{}
	}
	return f
}

func exits(v *facts) Verdict {
	end := v.end()
	if end == nil {
		return Verdict{}
	}
	if v.position.container.State == view.Running { // its last run says why it is not ready, if it was short
		return Verdict{}
	}
	f := Verdict{Evidence: v.exitEvidence(end), Next: []string{"podctl logs " + v.target()}}
	if killedByKubelet(v.KubeletLog, end.ID) {
		f.Layer, f.Confidence = LayerNone, Unknown
		f.Evidence = append(f.Evidence, inContainer(v.position.container, Evidence{Kind: KindLog, Source: "kubelet", Message: "the kubelet has stopped it; why is not known"}))
		return f
	}
	switch end.Cause.Kind {
	case view.CauseExit, view.CauseCompleted, view.CauseCrash:
		if f.Confidence = Confidence(end.Cause.Confidence); end.Cause.Kind == view.CauseCompleted && v.step == StepInit {
			return Verdict{}
		}
	case view.CauseStart, view.CauseOOM, view.CauseHostOOM, view.CauseStop, view.CauseLiveness, view.CauseSignal, view.CauseLost:
		f.Layer, f.Confidence = LayerNone, Unknown
	}
	return v.addUnresolved(f)
}

func runningInit(v *facts) Verdict {
	if c := v.position.container; v.step == StepInit && c != nil && c.State == view.Running && v.now.Sub(c.StartedAt) > slowStep {
		return found(inContainer(c, Evidence{Kind: KindState, Message: "init container, has been running for " + age(v.now.Sub(c.StartedAt))}), "podctl logs -f "+v.target())
	}
	return Verdict{}
}

// probeEvidence are the probes of the container that fail.
func (v *facts) probeEvidence() []Evidence {
	c := v.position.container
	if c == nil {
		return nil
	}
	var all []Evidence
	for _, p := range c.Probes {
		if p.Result != "" {
			all = append(all, inContainer(c, Evidence{Kind: KindProbe, Subject: pod.Joined(" ", string(p.Type), "probe", p.Handler), Message: pod.Joined(", ", p.Result, times(p.Failures), p.Output)}))
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

func failingProbe(v *facts) Verdict {
	if v.step != StepStartupProbe && v.step != StepReadiness {
		return Verdict{}
	}
	return Verdict{Evidence: v.probeEvidence(), Next: []string{"podctl logs -f " + v.target()}}
}

func unready(v *facts) Verdict {
	c := v.position.container
	if c == nil || v.step != StepStartupProbe && v.step != StepReadiness || v.now.Sub(c.StartedAt) < slowProcess {
		return Verdict{}
	}
	kind := view.ReadinessProbe
	if v.step == StepStartupProbe {
		kind = view.StartupProbe
	}
	i := slices.IndexFunc(c.Probes, func(p view.Probe) bool { return p.Type == kind })
	if i < 0 {
		return Verdict{}
	}
	return found(inContainer(c, Evidence{Kind: KindProbe, Subject: pod.Joined(" ", string(kind), "probe", c.Probes[i].Handler), Message: "has not succeeded"}), "podctl logs -f "+v.target())
}

// longPull examines a pull that lasts, as far as the owner of the pod says.
func longPull(v *facts) Verdict {
	switch {
	case v.step != StepPull || v.now.Sub(v.since) < slowPull:
		return Verdict{}
	case v.Manager != nil && v.Worker.Start.Step != pod.StepPull:
		return Verdict{}
	case v.Manager == nil && (v.position.container == nil || !view.IsPlain(v.position.container.Reason)):
		return Verdict{}
	}
	e := Evidence{Kind: KindPull, Subject: v.image(), Since: v.since}
	return Verdict{Evidence: []Evidence{inContainer(v.position.container, e)}, Next: commandOn("podctl pull ", v.image())}
}
