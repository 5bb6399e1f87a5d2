package worker

import v1 "k8s.io/api/core/v1"

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
