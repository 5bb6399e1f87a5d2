package usage

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Snapshot is what was read of pods at one moment.
type Snapshot struct {
	// Containers are the running ones, by id.
	Containers map[string]Sample
	// Networks are by id of the sandbox; those of the host's network are missing.
	Networks map[string]Network
	// Limits and PSI are those of the pods' own cgroups.
	Limits map[types.UID]Limits
	PSI    map[types.UID]pod.PSI
}

// Sample is what was read of one container. nil is unknown, or no limit.
type Sample struct {
	Source Source
	At     time.Time
	// CPU is a counter: the time used since the container was started.
	CPU *time.Duration
	// Periods and Throttled are counters of the periods in which the CPU limit was
	// enforced, and in which it was reached.
	Periods, Throttled *uint64
	// Memory is the working set, Swap what is swapped out and Disk the writable layer, in bytes.
	Memory, Swap, PIDs, Disk *uint64
	PSI                      pod.PSI
	Limits
}

// Source is where a sample comes from: counters of different sources are not
// compared.
type Source uint8

// The sources.
const (
	FromCgroup Source = iota
	FromRuntime
)

// Limits are in cores and in bytes; nil is none, or unknown.
type Limits struct {
	CPULimit    *float64
	MemoryLimit *uint64
}

// Network is what a sandbox received and sent, in bytes.
type Network struct {
	Source Source
	At     time.Time
	Rx, Tx uint64
}

// Bytes returns an amount of bytes in the units of Kubernetes, in about three digits:
// 512, 4.0Ki, 31Mi.
func Bytes[N uint64 | float64](n N) string {
	const units = "KMGTPE"
	amount, unit := float64(n), ""
	for i := 0; amount >= 1000 && i < len(units); i++ {
		amount, unit = amount/1024, units[i:i+1]+"i"
	}
	if unit == "" || amount >= 9.95 {
		return fmt.Sprintf("%.0f%s", amount, unit)
	}
	return fmt.Sprintf("%.1f%s", amount, unit)
}

// Size is an amount of bytes with its unit: 4.1MiB.
func Size(n uint64) string { return Bytes(n) + "B" }

// Cores returns an amount of CPU in millicores, as kubectl shows it: 12m, 1500m.
func Cores(n float64) string {
	if n > 0 && n < 0.0005 {
		return "<1m"
	}
	return fmt.Sprintf("%.0fm", 1000*n)
}
