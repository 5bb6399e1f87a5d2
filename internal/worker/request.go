package worker

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// request is an Update, Kill or KillRuntime in one form (UpdatePodOptions in
// pkg/kubelet/pod_workers.go).
type request struct {
	uid             types.UID
	name, namespace string

	work         Work
	runtimeEmpty bool
	// kill is the zero Kill unless isKill.
	kill   Kill
	isKill bool
}

func requestOfUpdate(ev Update) request {
	return requestOfPod(Work{Pod: ev.Pod, Type: ev.Type, Exclusive: ev.Exclusive}, ev.RuntimeEmpty)
}

func requestOfKill(ev Kill) request {
	r := requestOfPod(Work{Pod: ev.Pod, Exclusive: ev.Exclusive}, ev.RuntimeEmpty)
	r.kill, r.isKill = ev, true
	return r
}

func requestOfPod(w Work, runtimeEmpty bool) request {
	r := request{work: w, runtimeEmpty: runtimeEmpty}
	if p := w.Pod; p != nil {
		r.uid, r.name, r.namespace = p.UID, p.Name, p.Namespace
	}
	return r
}

func requestOfRuntime(ev KillRuntime) request {
	grace := runtimeOnlyGrace
	r := request{
		work:   Work{Runtime: ev.Pod, Exclusive: ev.Exclusive},
		kill:   Kill{Grace: &grace},
		isKill: true,
	}
	if p := ev.Pod; p != nil {
		r.uid, r.name, r.namespace = p.UID, p.Name, p.Namespace
	}
	return r
}

// stopCause returns why the request is a stop request, CauseNone if it is none.
// orphan reports that the pod was found in the runtime.
func (r request) stopCause(orphan bool) Cause {
	switch p := r.work.Pod; {
	case orphan:
		return CauseRuntimeOnly
	case p.DeletionTimestamp != nil:
		return CauseDeleted
	case hasEnded(p):
		return CausePhase
	case r.isKill && r.kill.Evict:
		return CauseEvicted
	case r.isKill:
		return CauseKilled
	}
	return CauseNone
}

// hasEnded reports whether the pod's status in the spec is terminal.
func hasEnded(p *v1.Pod) bool {
	return p != nil && pod.IsTerminal(p.Status.Phase)
}

// fullNameOf returns the full name of the pod in an event, "" if it has none.
func fullNameOf(ev Event) string {
	switch ev := ev.(type) {
	case Adopt:
		return pod.FullNameOf(ev.Pod)
	case Update:
		return pod.FullNameOf(ev.Pod)
	case Kill:
		return pod.FullNameOf(ev.Pod)
	case KillRuntime:
		return ev.Pod.FullName()
	default:
		return ""
	}
}

// runtimeOnlyGrace is the grace that the kubelet gives a pod that only the
// runtime knows, in seconds (HandlePodCleanups in pkg/kubelet/kubelet_pods.go).
const runtimeOnlyGrace = int64(1)

// minGrace is the least grace period ever given, in seconds.
const minGrace = int64(1)

// effectiveGrace is the grace period in seconds after one more stop request:
// the deletion grace, then the override, each if nothing is set yet (0 counts
// as unset) or if it is smaller; else the spec's; at least 1. A nil pod has
// no grace of its own. (calculateEffectiveGracePeriod in
// pkg/kubelet/pod_workers.go.)
func effectiveGrace(current int64, p *v1.Pod, override *int64) int64 {
	if p == nil {
		p = &v1.Pod{}
	}
	grace, asked := current, false
	for _, wish := range []*int64{p.DeletionGracePeriodSeconds, override} {
		if wish != nil && (grace == 0 || *wish < grace) {
			grace, asked = *wish, true
		}
	}
	if spec := p.Spec.TerminationGracePeriodSeconds; !asked && grace == 0 && spec != nil {
		grace = *spec
	}
	return max(grace, minGrace)
}
