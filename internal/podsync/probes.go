package podsync

// ProbeResult is what a probe last said of one container. The zero value
// means that it has not said anything yet.
type ProbeResult uint8

const (
	// ProbeUnknown: the probe has not answered yet.
	ProbeUnknown ProbeResult = iota
	// ProbeSuccess: the probe reached its success threshold.
	ProbeSuccess
	// ProbeFailure: the probe reached its failure threshold.
	ProbeFailure
)

// Probes are the results of a pod's probes, by container id: a restarted
// container starts with no result. The zero value is a pod whose probes have
// not run (pkg/kubelet/prober/results/results_manager.go).
type Probes struct {
	Startup, Liveness, Readiness map[string]ProbeResult
}
