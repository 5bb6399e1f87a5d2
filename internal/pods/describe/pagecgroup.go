package describe

import (
	"fmt"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/usage"
	"github.com/podctl/podctl/internal/pods/view"
)

func (p *page) cgroup(key string, c *view.Cgroup) {
	if c == nil {
		return
	}
	p.row(key, c.Path)
	p.row(key, cgroupText(c))
	if why := c.PSI.Unknown; why == "" || why != p.psiUnknown {
		p.row(key, psiText(c.PSI))
		p.psiUnknown = why
	}
	if c.OOMKills != nil && *c.OOMKills > 0 {
		p.row(key, fmt.Sprintf("out of memory: the kernel killed %d processes", *c.OOMKills))
	}
}

// cgroupText is "memory 31Mi of 64Mi, peak 64Mi, limit met 12 times, cpu 500m, throttled 40 of 100 periods, pids 3".
func cgroupText(c *view.Cgroup) string {
	var parts []string
	if c.Memory != nil {
		text := "memory " + usage.Bytes(*c.Memory)
		if c.MemoryLimit != nil {
			text += " of " + usage.Bytes(*c.MemoryLimit)
		}
		parts = append(parts, text)
	}
	if c.MemoryPeak != nil && c.MemoryLimit != nil {
		parts = append(parts, "peak "+usage.Bytes(*c.MemoryPeak))
	}
	if c.Swap != nil && *c.Swap > 0 {
		parts = append(parts, "swapped out "+usage.Bytes(*c.Swap))
	}
	if c.LimitHits != nil && *c.LimitHits > 0 {
		parts = append(parts, fmt.Sprintf("limit met %d times", *c.LimitHits))
	}
	if c.CPULimit != nil {
		parts = append(parts, "cpu limit "+usage.Cores(*c.CPULimit))
	}
	if c.Throttled != nil && *c.Throttled > 0 && c.Periods != nil {
		parts = append(parts, fmt.Sprintf("throttled in %d of %d periods", *c.Throttled, *c.Periods))
	}
	if c.PIDs != nil {
		text := fmt.Sprintf("pids %d", *c.PIDs)
		if c.PIDLimit != nil {
			text += fmt.Sprintf(" of %d", *c.PIDLimit)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// psiText is "PSI avg10: cpu some 7.4% full 0.0%, memory …", or why it is not known.
func psiText(psi pod.PSI) string {
	if psi.Unknown != "" {
		return "PSI -: " + psi.Unknown
	}
	var parts []string
	for _, of := range []struct {
		name string
		*pod.Stall
	}{{"cpu", psi.CPU}, {"memory", psi.Memory}, {"io", psi.IO}} {
		if of.Stall != nil {
			parts = append(parts, fmt.Sprintf("%s some %.1f%% full %.1f%%", of.name, of.Some, of.Full))
		}
	}
	return pod.Prefixed("PSI avg10: ", strings.Join(parts, ", "))
}
