package inventory

import (
	"cmp"

	"github.com/podctl/podctl/internal/pod"
)

// Display is the pod in the terms of kubectl's columns, by the best that is known
// of it: its podctl process, its kubelet, or the runtime alone.
func (p *Pod) Display() pod.Display {
	switch {
	case p.Manager != nil:
		return p.managedDisplay()
	case p.Object != nil && !p.objectLacks():
		return pod.DisplayOf(p.Object)
	}
	d := pod.DisplayOfRuntime(p.Runtime, p.Status)
	if p.Terminating() {
		d.Status = "Terminating"
	}
	return d
}

// objectLacks reports whether the kubelet has not read the containers that run: one
// that was just started says Pending of all pods.
func (p *Pod) objectLacks() bool {
	return len(p.Object.Status.ContainerStatuses) == 0 && p.RunningContainers() > 0
}

func (p *Pod) managedDisplay() pod.Display {
	w := &p.Worker
	d := pod.Display{Status: cmp.Or(w.Display, string(w.Status)), Ready: w.Ready, Containers: w.Containers, Restarts: w.Restarts}
	switch {
	case w.Rejected != "":
		d.Status = cmp.Or(w.WaitReason, "Rejected")
	case p.Terminating() && !pod.IsTerminal(w.Status):
		d.Status = "Terminating"
	case w.Stopped && pod.IsTerminal(w.Status):
		d.Status = "Stopped"
	}
	return d
}

// hasEnded reports whether a container has ended: how is known by its status.
func (p *Pod) hasEnded() bool {
	for _, c := range p.Runtime.Containers {
		if c.State == pod.Exited {
			return true
		}
	}
	return false
}

// NeedsStatus reports whether Display depends on the pod's status.
func (p *Pod) NeedsStatus() bool { return p.Manager == nil && p.Object == nil && p.hasEnded() }
