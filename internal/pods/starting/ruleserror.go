package starting

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/describe"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/pods/why"
)

// reportedError is an error that the owner of a pod or the runtime reports about the pod.
type reportedError struct {
	Evidence
	layer event.Layer // where it failed, "" if that is not known
}

// logErrorAge is how old an error in a log may be that still says what a pod waits for.
const logErrorAge = 3 * time.Minute

// errors returns what is reported, most specific first.
func (v *view) errors() []reportedError {
	var all []reportedError
	if c := v.position.container; c != nil {
		switch end := lastEnd(c); {
		case c.State == stateWaiting && c.Message != "" && !isPlain(c.Reason) && c.Reason != "CrashLoopBackOff":
			all = append(all, reportedError{Evidence: inContainer(c, Evidence{Kind: KindError, Source: c.Reason, Message: c.Message})})
		case c.State != stateRunning && end != nil && end.Cause.Kind == describe.CauseStart:
			all = append(all, reportedError{Evidence: inContainer(c, Evidence{Kind: KindError, Source: end.Reason, Message: end.Message, Since: end.FinishedAt})})
		}
	}
	if w := v.Worker; w != nil && !w.LastError.IsZero() && w.LastError.Layer != event.LayerBackOff {
		all = append(all, reportedError{Evidence{Kind: KindError, Source: "last " + w.LastError.Op, Message: w.LastError.Text, Since: w.LastDone}, w.LastError.Layer})
	}
	if l := v.LogError; l != nil && v.now.Sub(l.Time) < logErrorAge && (v.readySandbox() == nil || v.position.container != nil && v.position.container.State != stateRunning) {
		all = append(all, reportedError{Evidence: l.evidence()})
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
		cause := why.Meaning{Layer: layersOfFailures[e.layer]}
		if said := why.Explain(e.Message, v.step); len(said) > 0 && said[0].Layer != why.LayerNone {
			cause = said[0]
		}
		if cause.Layer == "" {
			unnamed = append(unnamed, e.Evidence)
			continue
		}
		f := finding{evidence: []Evidence{e.Evidence}, layer: cause.Layer, step: cause.Step, next: v.nextFor(cause.Layer)}
		if id, name := why.ReservedFor(e.Message); id != "" {
			f.evidence = append(f.evidence, v.holderOf(id, name))
			f.next = []string{"crictl inspectp " + shortID(id)}
			if i := slices.IndexFunc(v.Processes, func(p Process) bool { return p.Role == RoleCNI }); i >= 0 && v.Holder[id] == "" { // for the call that has the name
				f.evidence, f.layer, f.sure = append(f.evidence, v.Processes[i].evidence()), diagnose.LayerNone, diagnose.Unknown
			}
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
		if c := v.position.container; c != nil && c.ImageAdvice() != "" {
			return []string{c.ImageAdvice()}
		} else if c != nil && layer == diagnose.LayerRegistry {
			return append(commandOn("podctl pull ", c.Image), describe.WithoutRegistry)
		} else if c != nil {
			return commandOn("podctl pull ", c.Image)
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
