package view

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Display returns the pod in the terms of kubectl's columns, as its podctl process reports
// it, else its kubelet, else the runtime.
func (p *Pod) Display() pod.Display {
	d, _ := p.decide()
	return d
}

// Phase returns the pod's phase as -o json shows it: that of its status, Terminating,
// Rejected or, if only the runtime's listing is known, Exited.
func (p *Pod) ListedPhase() string {
	_, phase := p.decide()
	return phase
}

func (p *Pod) decide() (d pod.Display, phase string) {
	facts := pod.StatusFacts{Terminating: p.Terminating()}
	switch w := &p.Worker; {
	case p.Manager != nil:
		d = pod.Display{Status: w.PodStatus, Ready: w.Ready, Containers: w.Containers, Restarts: w.Restarts}
		facts.Phase, facts.Rejected, facts.WaitReason = w.PodPhase, w.Rejected != "", w.WaitReason
		facts.Stopped, facts.Finished, facts.Removed = w.Stopped, w.Finished(), p.isRemoved()
	case p.Object != nil && !p.noStatus && !p.objectIsStale():
		d, facts.Phase = pod.DisplayOf(p.Object), p.Object.Status.Phase
	default:
		d, facts.Phase = pod.DisplayOfRuntime(p.Runtime, p.RuntimeStatus), p.listedPhase()
	}
	facts.Containers = d.Status
	d.Status, phase = facts.Decide()
	return d, phase
}

// listedPhase returns the phase by the runtime's listing. Containers that were only created
// have not ended.
func (p *Pod) listedPhase() v1.PodPhase {
	switch {
	case !p.Runtime.Running() && p.Runtime.MayBeRunning():
		return v1.PodUnknown
	case !p.Runtime.Running() && !p.hasOnlyCreated():
		return pod.PhaseExited
	case p.RunningContainers() > 0:
		return v1.PodRunning
	}
	return v1.PodPending
}

// objectIsStale reports whether the kubelet has not read the running containers yet: a
// kubelet that was just started reports all pods as Pending.
func (p *Pod) objectIsStale() bool {
	return len(p.Object.Status.ContainerStatuses) == 0 && p.RunningContainers() > 0
}

// hasExited reports whether a container has exited. Its exit code is in the status.
func (p *Pod) hasExited() bool {
	return slices.ContainsFunc(p.ListedContainers(), func(c *pod.Container) bool { return c.State == pod.Exited })
}

// NeedsStatus reports whether Display depends on the status calls of the runtime.
func (p *Pod) NeedsStatus() bool { return p.Manager == nil && p.Object == nil && p.hasExited() }
