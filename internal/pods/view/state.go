package view

import (
	"time"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
)

// Terminating reports whether the pod is terminating. A pod that no podctl process manages
// is terminating if its kubelet says so or no longer names it, or if its sandbox was stopped
// before its containers.
func (p *Pod) Terminating() bool {
	if p.Manager != nil {
		return p.Worker.Terminating()
	}
	if p.Verdict.Relation == owners.Terminates && p.Runtime != nil && p.Runtime.MayBeRunning() || p.Object != nil && p.Object.DeletionTimestamp != nil {
		return true
	}
	return !p.SandboxReady() && p.RunningContainers() > 0
}

// startTime is how long the start of a pod may take before that is worth a look.
const startTime = time.Minute

// HangsStarting reports whether the pod has been waiting for its containers to be created for
// longer than a start takes.
func (p *Pod) HangsStarting(now time.Time) bool {
	started := p.Began()
	return p.Display().Status == statusCreating && !started.IsZero() && now.Sub(started) > startTime
}

// statusCreating is kubectl's for a pod none of whose containers was created.
const statusCreating = "ContainerCreating"

// hasOnlyCreated reports whether the pod has containers and none of them has run.
func (p *Pod) hasOnlyCreated() bool {
	for _, c := range p.Runtime.Containers {
		if c.State != pod.Created {
			return false
		}
	}
	return len(p.Runtime.Containers) > 0
}

// ListedContainers returns the containers that the runtime lists of the pod, newest first.
func (p *Pod) ListedContainers() []*pod.Container {
	if p.Runtime == nil {
		return nil
	}
	return p.Runtime.Containers
}

// ListedSandboxes returns the sandboxes that the runtime lists of the pod, newest first.
func (p *Pod) ListedSandboxes() []*pod.Sandbox {
	if p.Runtime == nil {
		return nil
	}
	return p.Runtime.Sandboxes
}

// NewestSandbox returns the newest sandbox, the zero value if there is none.
func (p *Pod) NewestSandbox() pod.Sandbox {
	for _, s := range p.ListedSandboxes() {
		return *s
	}
	return pod.Sandbox{}
}

// SandboxReady reports whether a sandbox of the pod is ready.
func (p *Pod) SandboxReady() bool { return p.ReadySandboxID() != "" }

// ReadySandbox returns the id of the newest sandbox that is ready, "" if none is.
func (p *Pod) ReadySandboxID() string {
	for _, s := range p.ListedSandboxes() {
		if s.State == pod.Running {
			return s.ID
		}
	}
	return ""
}

// RunningContainers returns the number of running containers.
func (p *Pod) RunningContainers() int {
	n := 0
	for _, c := range p.ListedContainers() {
		if c.State == pod.Running {
			n++
		}
	}
	return n
}

// Started returns when the pod started, else when its first sandbox was created; zero if
// neither is known.
func (p *Pod) Began() time.Time {
	switch {
	case p.Manager == nil && p.Object != nil && p.Object.Status.StartTime != nil:
		return p.Object.Status.StartTime.Time
	case !p.Worker.StartTime.IsZero():
		return p.Worker.StartTime
	}
	var first time.Time
	for _, s := range p.ListedSandboxes() {
		if first.IsZero() || s.CreatedAt.Before(first) {
			first = s.CreatedAt
		}
	}
	return first
}

// isRemoved reports whether the runtime holds nothing of the pod that a podctl process reports.
func (p *Pod) isRemoved() bool { return p.Manager != nil && p.Runtime == nil && !p.unlisted }

// IPs returns the pod's IPs, if a podctl process or a kubelet reports them, or if they were
// read from the runtime.
func (p *Pod) IPs() []string {
	switch {
	case p.Worker.Stopped && p.isRemoved():
		return nil // those of its last sandbox, which is removed
	case len(p.Worker.IPs) > 0:
		return p.Worker.IPs
	case p.RuntimeStatus != nil && len(p.RuntimeStatus.IPs) > 0:
		return p.RuntimeStatus.IPs
	case p.Object != nil && len(p.Object.Status.PodIPs) > 0:
		var ips []string
		for _, ip := range p.Object.Status.PodIPs {
			ips = append(ips, ip.IP)
		}
		return ips
	}
	return p.sandboxIPs
}

// ReadError is why a part of the pod could not be read, nil if nothing is missing.
func (p *Pod) ReadError() error {
	if len(p.Unread) == 0 {
		return nil
	}
	return p.Unread[0].Err
}
