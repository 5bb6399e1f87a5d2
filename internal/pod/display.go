package pod

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Display is a pod in the terms of kubectl's columns.
type Display struct {
	// Status is STATUS: the phase, or what says more: CrashLoopBackOff, Completed,
	// Error, Init:1/2, Terminating …
	Status string
	// Ready and Containers are READY: regular containers and sidecars.
	Ready, Containers int
	Restarts          int32
}

// nodeLost is the reason of a pod whose node does not answer the cluster.
const nodeLost = "NodeLost"

// DisplayOf displays a pod by its spec and status, as kubectl does
// (pkg/printers/internalversion/printers.go).
func DisplayOf(p *v1.Pod) Display {
	d := Display{Status: string(p.Status.Phase)}
	if p.Status.Reason != "" {
		d.Status = p.Status.Reason
	}
	d.Ready, d.Containers = CountReady(&p.Status, p)
	init := initDisplay(p)
	initialized := conditionTrue(&p.Status, v1.PodInitialized)
	for _, c := range p.Status.InitContainerStatuses {
		if init != "" && !initialized || isSidecarOf(p, c.Name) {
			d.Restarts += c.RestartCount
		}
	}
	if init != "" {
		d.Status = init
	}
	if init == "" || initialized {
		for _, c := range p.Status.ContainerStatuses {
			d.Restarts += c.RestartCount
		}
		d.Status = containersDisplay(p, d.Status)
	}
	switch {
	case p.DeletionTimestamp == nil:
	case p.Status.Reason == nodeLost:
		d.Status = "Unknown"
	case !IsTerminal(p.Status.Phase):
		d.Status = "Terminating"
	}
	return d
}

// initDisplay is the state of the first init container that has not done its
// part, "" if all have.
func initDisplay(p *v1.Pod) string {
	for i, c := range p.Status.InitContainerStatuses {
		ended, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0, isSidecarOf(p, c.Name) && c.Started != nil && *c.Started:
			continue
		case ended != nil:
			return "Init:" + endDisplay(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			return "Init:" + waiting.Reason
		}
		return fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
	}
	return ""
}

// containersDisplay is the state of the first container that waits or has
// ended, else the status that it is given.
func containersDisplay(p *v1.Pod, status string) string {
	running := false
	for _, c := range slices.Backward(p.Status.ContainerStatuses) {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			status = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			status = endDisplay(c.State.Terminated)
		case c.State.Running != nil && c.Ready:
			running = true
		}
	}
	switch {
	case status != completed || !running:
		return status
	case conditionTrue(&p.Status, v1.PodReady):
		return "Running"
	}
	return "NotReady"
}

const completed = "Completed"

func endDisplay(t *v1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func isSidecarOf(p *v1.Pod, name string) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c v1.Container) bool { return c.Name == name && IsSidecar(&c) })
}

func conditionTrue(s *v1.PodStatus, t v1.PodConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == t && c.Status == v1.ConditionTrue })
}
