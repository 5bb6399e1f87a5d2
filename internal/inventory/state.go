package inventory

import (
	"time"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
)

// Terminating reports whether the pod is terminating. For a pod that no podctl
// process manages that is known if its kubelet does not name it any more, else only
// once its sandbox was stopped before all of its containers were.
func (p *Pod) Terminating() bool {
	if p.Manager != nil {
		return p.Worker.Terminating()
	}
	if p.Verdict.Relation == owners.Terminates && p.Runtime.Running() || p.Object != nil && p.Object.DeletionTimestamp != nil {
		return true
	}
	return !p.SandboxReady() && p.RunningContainers() > 0
}

// onlyCreated reports whether containers were created and none has run.
func (p *Pod) onlyCreated() bool {
	for _, c := range p.Runtime.Containers {
		if c.State != pod.Created {
			return false
		}
	}
	return len(p.Runtime.Containers) > 0
}

// SandboxReady reports whether a sandbox of the pod is ready.
func (p *Pod) SandboxReady() bool { return p.ReadySandbox() != "" }

// ReadySandbox is the id of the newest sandbox that is ready, "" if none is.
func (p *Pod) ReadySandbox() string {
	if p.Runtime == nil {
		return ""
	}
	for _, s := range p.Runtime.Sandboxes {
		if s.State == pod.Running {
			return s.ID
		}
	}
	return ""
}

// RunningContainers counts the containers that run.
func (p *Pod) RunningContainers() int {
	if p.Runtime == nil {
		return 0
	}
	n := 0
	for _, c := range p.Runtime.Containers {
		if c.State == pod.Running {
			n++
		}
	}
	return n
}

// Started is when the pod started, else when its first sandbox was created, zero
// if neither is known.
func (p *Pod) Started() time.Time {
	if !p.Worker.StartTime.IsZero() || p.Runtime == nil {
		return p.Worker.StartTime
	}
	var first time.Time
	for _, s := range p.Runtime.Sandboxes {
		if first.IsZero() || s.CreatedAt.Before(first) {
			first = s.CreatedAt
		}
	}
	return first
}

// IPs are known for pods that a podctl process manages, for those that a kubelet
// names, and for others whose status or IPs were read.
func (p *Pod) IPs() []string {
	switch {
	case len(p.Worker.IPs) > 0:
		return p.Worker.IPs
	case p.Status != nil && len(p.Status.IPs) > 0:
		return p.Status.IPs
	case p.Object != nil && len(p.Object.Status.PodIPs) > 0:
		var ips []string
		for _, ip := range p.Object.Status.PodIPs {
			ips = append(ips, ip.IP)
		}
		return ips
	}
	return p.sandboxIPs
}
