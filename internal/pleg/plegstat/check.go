package plegstat

// Results of a check.
const (
	Healthy     = "healthy"
	Unhealthy   = "unhealthy"
	Unreachable = "unreachable"
)

// CheckReport is the result of a check of a runtime. Times are in seconds.
type CheckReport struct {
	Status string `json:"status"`           // healthy, unhealthy, unreachable
	Reason string `json:"reason,omitempty"` // why the runtime is not healthy
	Hint   string `json:"hint,omitempty"`   // what to try next

	Runtime          string  `json:"runtime,omitempty"`          // name and version
	Endpoint         string  `json:"endpoint,omitempty"`         // socket
	PID              int     `json:"pid,omitempty"`              // process that serves the socket, if known
	Seconds          float64 `json:"seconds,omitempty"`          // duration of the check
	ThresholdSeconds float64 `json:"thresholdSeconds,omitempty"` // --threshold

	Samples   int      `json:"samples"`             // lists of all pods that succeeded
	RelistMax *float64 `json:"relistMax,omitempty"` // longest duration of these lists

	Pods       int `json:"pods"`       // in the last list
	Containers int `json:"containers"` // in the last list, without sandboxes

	Slowest []CheckSlow  `json:"slowest"` // pods whose status took longest to read
	Waits   []CheckWait  `json:"waits"`   // calls in flight for 1s or longer, oldest first
	Errors  []CheckError `json:"errors"`  // pods whose status cannot be read

	Unfinished string `json:"unfinished,omitempty"` // what was answered, if the check did not finish

	Hints   string `json:"hints,omitempty"`   // broadcast, none, or unknown if the runtime has not answered
	NoHints string `json:"noHints,omitempty"` // why the runtime has no events
}

// CheckSlow is a pod whose status took long.
type CheckSlow struct {
	Namespace string  `json:"namespace"` // of the pod
	Name      string  `json:"name"`      // of the pod
	UID       string  `json:"uid"`       // of the pod
	Seconds   float64 `json:"seconds"`   // for the whole status
}

// CheckError is a pod whose status cannot be read.
type CheckError struct {
	Namespace string `json:"namespace"` // of the pod
	Name      string `json:"name"`      // of the pod
	UID       string `json:"uid"`       // of the pod
	Message   string `json:"message"`   // error of the runtime
}

// NewCheckReport returns a report with empty lists.
func NewCheckReport() CheckReport {
	return CheckReport{Slowest: []CheckSlow{}, Waits: []CheckWait{}, Errors: []CheckError{}}
}

// Fill copies the numbers of a meter.
func (r *CheckReport) Fill(m *Meter) {
	m.mu.Lock()
	r.Samples, r.RelistMax = m.relists.n, m.relists.max()
	m.mu.Unlock()
	state, why := m.Hints()
	if r.Hints = string(state); why != nil {
		r.NoHints = why.Error()
	}
}
