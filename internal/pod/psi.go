package pod

// PSI is the pressure stall information of a cgroup. A nil field is not known.
type PSI struct {
	CPU     *Stall `json:"cpu,omitempty"`     // waiting for CPU
	Memory  *Stall `json:"memory,omitempty"`  // waiting for memory
	IO      *Stall `json:"io,omitempty"`      // waiting for storage
	Unknown string `json:"unknown,omitempty"` // why nothing is known
}

// Stall is how much the tasks of a cgroup waited for one resource: percent of the last
// 10 seconds, as the kernel averages it.
type Stall struct {
	Some float64 `json:"someAvg10"` // percent of the time in which at least one task waited
	Full float64 `json:"fullAvg10"` // percent of the time in which all tasks waited
}
