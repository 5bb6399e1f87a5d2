package pod

import v1 "k8s.io/api/core/v1"

// IsTerminal reports whether a pod in this phase has finished and never runs
// again: Succeeded or Failed. The zero value is not terminal
// (IsPodPhaseTerminal in pkg/api/v1/pod/util.go).
func IsTerminal(phase v1.PodPhase) bool {
	return phase == v1.PodSucceeded || phase == v1.PodFailed
}
