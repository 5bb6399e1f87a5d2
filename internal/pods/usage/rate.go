package usage

import (
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// Usage is what a container or a pod uses. nil is unknown, or no limit.
type Usage struct {
	CPU *float64 // cores
	// Periods and Throttled are those between the two samples: see Sample.
	Periods, Throttled       *uint64
	Memory, Swap, PIDs, Disk *uint64
	PSI                      pod.PSI
	// Rx and Tx are bytes a second, of a pod.
	Rx, Tx *float64
	Limits
}

// Rates returns what each running container used between two snapshots, by id.
func Rates(first, second Snapshot) map[string]Usage {
	all := make(map[string]Usage, len(second.Containers))
	for id, now := range second.Containers {
		u := Usage{Memory: now.Memory, Swap: now.Swap, PIDs: now.PIDs, Disk: now.Disk, PSI: now.PSI, Limits: now.Limits}
		if before, ok := first.Containers[id]; ok && before.Source == now.Source {
			u.CPU = cpuRate(before, now)
			u.Periods, u.Throttled = increase(before.Periods, now.Periods), increase(before.Throttled, now.Throttled)
		}
		all[id] = u
	}
	return all
}

func cpuRate(before, now Sample) *float64 {
	elapsed := now.At.Sub(before.At)
	if before.CPU == nil || now.CPU == nil || elapsed <= 0 || *now.CPU < *before.CPU {
		return nil
	}
	cores := float64(*now.CPU-*before.CPU) / float64(elapsed)
	return &cores
}

// increase of a counter, nil if it was reset.
func increase(before, now *uint64) *uint64 {
	if before == nil || now == nil || *now < *before {
		return nil
	}
	n := *now - *before
	return &n
}

// OfPod sums the containers of a pod that run, and adds its PSI and its network. What is
// unknown of one of them is unknown of the pod.
func OfPod(p *pod.Pod, containers map[string]Usage, first, second Snapshot) Usage {
	var all []Usage
	for c := range running(p) {
		all = append(all, containers[c.ID])
	}
	u := Sum(all)
	u.PSI = second.PSI[p.UID]
	own := second.Limits[p.UID]
	if own.CPULimit != nil {
		u.CPULimit = own.CPULimit
	}
	if own.MemoryLimit != nil {
		u.MemoryLimit = own.MemoryLimit
	}
	for _, s := range p.Sandboxes {
		before, ok := first.Networks[s.ID]
		now, still := second.Networks[s.ID]
		if ok && still && before.Source == now.Source {
			elapsed := now.At.Sub(before.At)
			u.Rx, u.Tx = perSecond(before.Rx, now.Rx, elapsed), perSecond(before.Tx, now.Tx, elapsed)
			break
		}
	}
	return u
}

func perSecond(before, now uint64, elapsed time.Duration) *float64 {
	if now < before || elapsed <= 0 {
		return nil
	}
	rate := float64(now-before) / elapsed.Seconds()
	return &rate
}

// Sum adds up the containers of a pod. A sum is unknown if a part of it is, and of
// no containers; a pod has a limit if each of its containers has one.
func Sum(containers []Usage) Usage {
	return Usage{
		CPU:       sumOf(containers, func(u Usage) *float64 { return u.CPU }),
		Periods:   sumOf(containers, func(u Usage) *uint64 { return u.Periods }),
		Throttled: sumOf(containers, func(u Usage) *uint64 { return u.Throttled }),
		Memory:    sumOf(containers, func(u Usage) *uint64 { return u.Memory }),
		Swap:      sumOf(containers, func(u Usage) *uint64 { return u.Swap }),
		PIDs:      sumOf(containers, func(u Usage) *uint64 { return u.PIDs }),
		Disk:      sumOf(containers, func(u Usage) *uint64 { return u.Disk }),
		Limits: Limits{
			CPULimit:    sumOf(containers, func(u Usage) *float64 { return u.CPULimit }),
			MemoryLimit: sumOf(containers, func(u Usage) *uint64 { return u.MemoryLimit }),
		},
	}
}

func sumOf[N float64 | uint64](containers []Usage, part func(Usage) *N) *N {
	if len(containers) == 0 {
		return nil
	}
	var total N
	for _, u := range containers {
		n := part(u)
		if n == nil {
			return nil
		}
		total += *n
	}
	return &total
}

// CPUPercent returns the CPU in percent of its limit, nil without one.
func (u Usage) CPUPercent() *float64 { return percent(u.CPU, u.CPULimit) }

// MemoryPercent returns the memory in percent of its limit, nil without one.
func (u Usage) MemoryPercent() *float64 { return percent(u.Memory, u.MemoryLimit) }

// ThrottledPercent returns the share of periods in which the CPU limit was reached; nil
// without a limit. That of a pod counts the containers that have one.
func (u Usage) ThrottledPercent() *float64 {
	if u.CPULimit != nil && u.Periods != nil && *u.Periods == 0 { // it was idle
		zero := 0.0
		return &zero
	}
	return percent(u.Throttled, u.Periods)
}

func percent[N float64 | uint64](part, whole *N) *float64 {
	if part == nil || whole == nil || *whole == 0 {
		return nil
	}
	p := 100 * float64(*part) / float64(*whole)
	return &p
}
