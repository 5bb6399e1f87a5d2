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
	d := Display{Status: string(p.Status.Phase), Containers: len(p.Spec.Containers)}
	if p.Status.Reason != "" {
		d.Status = p.Status.Reason
	}
	if slices.ContainsFunc(p.Status.Conditions, isGated) {
		d.Status = v1.PodReasonSchedulingGated
	}
	for i := range p.Spec.InitContainers {
		if IsSidecar(&p.Spec.InitContainers[i]) {
			d.Containers++
		}
	}
	initializing, sidecarRestarts := d.addInit(p)
	if !initializing || conditionTrue(&p.Status, v1.PodInitialized) {
		d.Restarts = sidecarRestarts
		d.addContainers(p)
	}
	terminating := p.DeletionTimestamp != nil
	if terminating && p.Status.Reason == nodeLost {
		d.Status, terminating = "Unknown", false
	}
	d.Status, _ = StatusFacts{Containers: d.Status, Phase: p.Status.Phase, Terminating: terminating}.Decide()
	return d
}

// addInit adds the init containers up to the first one that has not done its part,
// and reports whether there is one, and how often the sidecars among them were restarted.
func (d *Display) addInit(p *v1.Pod) (initializing bool, sidecarRestarts int32) {
	for i, c := range p.Status.InitContainerStatuses {
		sidecar := isSidecarOf(p, c.Name)
		d.Restarts += c.RestartCount
		if sidecar {
			sidecarRestarts += c.RestartCount
		}
		ended, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case sidecar && c.Started != nil && *c.Started:
			if c.Ready {
				d.Ready++
			}
			continue
		case ended != nil:
			d.Status = "Init:" + endDisplay(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			d.Status = "Init:" + waiting.Reason
		default:
			d.Status = fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
		}
		return true, sidecarRestarts
	}
	return false, sidecarRestarts
}

// addContainers adds the containers. The status is that of the first one that waits
// or has ended; if that has completed, the end of the first one that has failed.
func (d *Display) addContainers(p *v1.Pod) {
	running, failed := false, ""
	for _, c := range slices.Backward(p.Status.ContainerStatuses) {
		d.Restarts += c.RestartCount
		switch ended := c.State.Terminated; {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			d.Status = c.State.Waiting.Reason
		case ended != nil:
			d.Status = endDisplay(ended)
			if ended.ExitCode != 0 {
				failed = d.Status
			}
		case c.State.Running != nil && c.Ready:
			running = true
			d.Ready++
		}
	}
	switch {
	case d.Status != completed:
	case running && conditionTrue(&p.Status, v1.PodReady):
		d.Status = "Running"
	case failed != "":
		d.Status = failed
	case running:
		d.Status = "NotReady"
	}
}

// isGated reports whether the condition says that the pod must not be scheduled yet.
func isGated(c v1.PodCondition) bool {
	return c.Type == v1.PodScheduled && c.Reason == v1.PodReasonSchedulingGated
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
