package pod

// ProbeResult is what counts of one probe of one container. The zero value
// means that the probe has come to no result.
type ProbeResult uint8

const (
	// ProbeUnknown: the probe has come to no result.
	ProbeUnknown ProbeResult = iota
	// ProbeSuccess: the success threshold was reached last.
	ProbeSuccess
	// ProbeFailure: the failure threshold was reached last.
	ProbeFailure
)

func (r ProbeResult) String() string {
	return [...]string{ProbeUnknown: "Unknown", ProbeSuccess: "Success", ProbeFailure: "Failure"}[r]
}

// ProbeResults are the results of a pod's probes, by container id: a restarted
// container starts with no result. The zero value is a pod whose probes have
// not run (pkg/kubelet/prober/results/results_manager.go).
type ProbeResults struct {
	Startup, Liveness, Readiness map[string]ProbeResult
}
