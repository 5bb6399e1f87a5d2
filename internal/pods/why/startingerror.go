package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
)

// reportedError is an error that the owner of a pod or the runtime reports about the pod.
type reportedError struct {
	Evidence
	layer event.Layer // where it failed, "" if that is not known
}

// logErrorAge is how old an error in a log may be that still says what a pod waits for.
const logErrorAge = 3 * time.Minute

// errors returns what is reported, most specific first.
func (v *facts) errors() []reportedError {
	var all []reportedError
	if c := v.position.container; c != nil {
		switch end := c.LastEnd(); {
		case c.State == view.Waiting && c.Message != "" && !view.IsPlain(c.Reason) && c.Reason != "CrashLoopBackOff":
			all = append(all, reportedError{Evidence: inContainer(c, Evidence{Kind: KindError, Source: c.Reason, Message: c.Message})})
		case c.State != view.Running && end != nil && end.Cause.Kind == view.CauseStart:
			all = append(all, reportedError{Evidence: inContainer(c, Evidence{Kind: KindError, Source: end.Reason, Message: cmp.Or(end.Message, c.LastLine()), Since: end.FinishedAt})})
		}
	}
	if w := &v.Worker; !w.LastError.IsZero() && w.LastError.Layer != event.LayerBackOff {
		all = append(all, reportedError{Evidence{Kind: KindError, Source: "last " + w.LastError.Op, Message: w.LastError.Text, Since: w.LastDone}, w.LastError.Layer})
	}
	if l := lastError(v.KubeletLog, v.now); l != nil && v.now.Sub(l.Time) < logErrorAge && (v.ReadySandbox() == nil || v.position.container != nil && v.position.container.State != view.Running) {
		all = append(all, reportedError{Evidence: Evidence{Kind: KindError, Source: "last error of the kubelet", Message: l.Text, Since: l.Time}})
	}
	return all
}

// layersOfFailures are the layers of what failed in a layer of podctl, where that alone
// decides.
var layersOfFailures = map[event.Layer]Layer{
	event.LayerRuntime: LayerRuntime, event.LayerStatus: LayerRuntime, event.LayerVolume: LayerVolume,
	event.LayerCgroup: LayerCgroup, event.LayerNetwork: LayerNetwork, event.LayerConfig: LayerConfig, event.LayerHook: LayerHook,
}

func namedByError(v *facts) Verdict {
	var unnamed []Evidence
	for _, e := range v.errors() {
		cause := Meaning{Layer: layersOfFailures[e.layer]}
		if said := Explain(e.Message, v.step); len(said) > 0 && said[0].Layer != LayerNone {
			cause = said[0]
		}
		if cause.weak && v.end() != nil {
			continue // it waits for a back-off: how it ended says why
		}
		if cause.Layer == "" {
			unnamed = append(unnamed, e.Evidence)
			continue
		}
		if (v.ReadySandbox() != nil || isUnanswered(v.Pod)) && (cause.Step == StepSandbox || cause.Step == StepNetwork) {
			cause.Step = "" // which it has passed, or may have
		}
		f := Verdict{Evidence: []Evidence{e.Evidence}, Layer: cause.Layer, Step: cause.Step, Next: v.nextFor(&cause)}
		if cause.Meaning != "" {
			f.Evidence = append(f.Evidence, Evidence{Kind: KindMeaning, Message: cause.Meaning})
		}
		if id, name := ReservedFor(e.Message); id != "" {
			f.Evidence = append(f.Evidence, v.holderOf(id, name))
			f.Next = []string{"crictl inspectp " + pod.ShortID(id)}
			if i := slices.IndexFunc(v.Processes, func(p view.Process) bool { return p.Role == view.RoleCNI }); i >= 0 && v.Holder[id] == "" { // for the call that has the name
				f.Evidence, f.Layer, f.Confidence = append(f.Evidence, processEvidence(&v.Processes[i])), LayerNone, Unknown
			}
		}
		return f
	}
	if v.end() != nil && v.position.container.State != view.Running {
		return Verdict{} // how it ended says more
	}
	return Verdict{Evidence: unnamed, Layer: LayerNone, Confidence: Unknown}
}

// nextFor returns the commands for what an error means; none if those of describe serve.
func (v *facts) nextFor(m *Meaning) []string {
	switch ofImage := v.position.container != nil && (m.Layer == LayerImage || m.Layer == LayerRegistry); {
	case m.Hint == describePod && !ofImage:
		return []string{"podctl describe " + v.CLIName()}
	case m.Layer == LayerRegistry && !ofImage && strings.HasPrefix(m.Hint, "podctl pull ") && !m.needsName():
		return []string{m.Hint, withoutRegistry}
	case m.Hint == writeImage, m.Hint != "" && !m.needsName() && !ofImage:
		return []string{m.Hint}
	}
	switch m.Layer {
	case LayerNetwork, LayerRuntime, LayerDisk:
		return []string{"podctl doctor"}
	case LayerApplication, LayerConfig, LayerDevice, LayerVolume:
		return []string{"podctl describe " + v.CLIName()}
	case LayerKernel:
		return []string{"podctl top containers " + v.CLIName()}
	case LayerHook:
		return []string{"podctl logs " + v.target()}
	case LayerImage, LayerRegistry:
		if c := v.position.container; c != nil && imageAdvice(c) != "" {
			return []string{imageAdvice(c)}
		} else if c != nil && m.Layer == LayerRegistry {
			return append(commandOn("podctl pull ", c.Image), withoutRegistry)
		} else if c != nil {
			return commandOn("podctl pull ", c.Image)
		}
	case LayerNone, LayerWorker, LayerShim, LayerCgroup, LayerProcess, LayerLock, LayerAdmission, LayerProbe:
	}
	return nil
}

// holderOf says which sandbox or container has a name that the runtime refuses.
func (v *facts) holderOf(id, name string) Evidence {
	holder, listed := v.Holder[id]
	if !listed {
		return Evidence{Kind: KindName, Subject: name, Message: "is that of " + pod.ShortID(id) + ", which the runtime does not list: it is being made, or a call that timed out left it"}
	}
	return Evidence{Kind: KindName, Subject: name, Message: "is that of " + pod.ShortID(id) + ", of " + holder}
}
