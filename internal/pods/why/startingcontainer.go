package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
)

func runningHook(v *facts) finding {
	if v.step != StepHook {
		return finding{}
	}
	c := v.position.container
	if c == nil || v.Manager == nil && !c.Starting {
		return finding{}
	}
	if v.Manager != nil && v.Worker.Start.Step == "" {
		return finding{} // it has ended
	}
	return found(inContainer(c, Evidence{Kind: KindCall, Subject: joined(" ", "postStart hook", c.PostStart), Since: v.since}), "podctl exec "+v.target()+" -- ps")
}

// failedHook examines a hook for which the container was stopped, or is being stopped.
func failedHook(v *facts) finding {
	c := v.position.container
	if c == nil {
		return finding{}
	}
	from, to := c.StartedAt, v.now
	if end := v.end(); end != nil && c.State != view.Running {
		from, to = end.StartedAt, end.FinishedAt
	}
	e, failed := v.event(event.FailedPostStartHook, from, to)
	if !failed || from.IsZero() {
		return finding{}
	}
	f := found(inContainer(c, Evidence{Kind: KindError, Source: e.Reason, Message: e.Message, Since: e.Time}), "podctl logs "+v.target())
	f.step = StepHook
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
	all := []Evidence{inContainer(c, Evidence{Kind: KindExit, Message: joined(": ", text, end.Cause.Text), ExitCode: &code, Since: end.FinishedAt})}
	for _, more := range end.Cause.Evidence {
		all = append(all, inContainer(c, Evidence{Kind: KindExit, Message: more}))
	}
	if len(c.LogLines) > 0 {
		all = append(all, inContainer(c, Evidence{Kind: KindLog, Message: c.LogLines[len(c.LogLines)-1]}))
	}
	return all
}

func killedForMemory(v *facts) finding {
	end := v.end()
	if end == nil {
		return finding{}
	}
	f := finding{evidence: v.exitEvidence(end), next: []string{"podctl top containers " + v.CLIName()}}
	switch end.Cause.Kind {
	case CauseOOM, CauseHostOOM:
		f.sure = Confidence(end.Cause.Confidence)
	case CauseExit:
		if f.sure = Likely; !end.Cause.LostProcess {
			return finding{}
		}
	case CauseCompleted, CauseCrash, CauseStart, CauseStop, CauseLiveness, CauseSignal, CauseLost:
		return finding{}
	}
	return f
}

func killedForProbe(v *facts) finding {
	end := v.end()
	if end == nil {
		return finding{}
	}
	f := finding{evidence: append(v.exitEvidence(end), v.probeEvidence()...), next: []string{"podctl logs " + v.target()}}
	if e, killed := v.event(event.Killing, end.StartedAt, end.FinishedAt); killed && strings.Contains(e.Message, " probe") {
		f.evidence = append([]Evidence{inContainer(v.position.container, Evidence{Kind: KindError, Source: e.Reason, Message: e.Message, Since: e.Time})}, f.evidence...)
		f.sure = Observed
		return f
	}
	c := v.position.container
	probed := c.PostStart == "" && slices.ContainsFunc(c.Probes, func(p view.Probe) bool { return p.Type != "readiness" })
	switch {
	case killedByKubelet(v.KubeletLog, end.ID) && probed:
		f.evidence = append([]Evidence{inContainer(c, Evidence{Kind: KindLog, Source: "kubelet", Message: "the kubelet has stopped it, which it does to a container of a pod that should run for its probes"})}, f.evidence...)
		return f
	case end.Cause.Kind != CauseLiveness:
		return finding{}
	}
	return f
}

func exits(v *facts) finding {
	end := v.end()
	if end == nil {
		return finding{}
	}
	if v.position.container.State == view.Running { // its last run says why it is not ready, if it was short
		return finding{}
	}
	f := finding{evidence: v.exitEvidence(end), next: []string{"podctl logs " + v.target()}}
	if killedByKubelet(v.KubeletLog, end.ID) {
		f.layer, f.sure = LayerNone, Unknown
		f.evidence = append(f.evidence, inContainer(v.position.container, Evidence{Kind: KindLog, Source: "kubelet", Message: "the kubelet has stopped it; why is not known"}))
		return f
	}
	switch end.Cause.Kind {
	case CauseExit, CauseCompleted, CauseCrash:
		if f.sure = Confidence(end.Cause.Confidence); end.Cause.Kind == CauseCompleted && v.step == StepInit {
			return finding{}
		}
	case CauseStart, CauseOOM, CauseHostOOM, CauseStop, CauseLiveness, CauseSignal, CauseLost:
		f.layer, f.sure = LayerNone, Unknown
	}
	return v.addUnresolved(f)
}

func runningInit(v *facts) finding {
	if c := v.position.container; v.step == StepInit && c != nil && c.State == view.Running && v.now.Sub(c.StartedAt) > slowStep {
		return found(inContainer(c, Evidence{Kind: KindState, Message: "init container, has been running for " + age(v.now.Sub(c.StartedAt))}), "podctl logs -f "+v.target())
	}
	return finding{}
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
			all = append(all, inContainer(c, Evidence{Kind: KindProbe, Subject: joined(" ", p.Type, "probe", p.Handler), Message: joined(", ", p.Result, times(p.Failures), p.Output)}))
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

func failingProbe(v *facts) finding {
	if v.step != StepStartupProbe && v.step != StepReadiness {
		return finding{}
	}
	return finding{evidence: v.probeEvidence(), next: []string{"podctl logs -f " + v.target()}}
}

func unready(v *facts) finding {
	c := v.position.container
	if c == nil || v.step != StepStartupProbe && v.step != StepReadiness || v.now.Sub(c.StartedAt) < slowProcess {
		return finding{}
	}
	kind := "readiness"
	if v.step == StepStartupProbe {
		kind = "startup"
	}
	i := slices.IndexFunc(c.Probes, func(p view.Probe) bool { return p.Type == kind })
	if i < 0 {
		return finding{}
	}
	return found(inContainer(c, Evidence{Kind: KindProbe, Subject: joined(" ", kind, "probe", c.Probes[i].Handler), Message: "has not succeeded"}), "podctl logs -f "+v.target())
}
