package podsync

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

const (
	reasonPodCompleted    = "PodCompleted"
	reasonPodFailed       = "PodFailed"
	reasonNotReady        = "ContainersNotReady"
	reasonNotInitialized  = "ContainersNotInitialized"
	reasonSandboxNotReady = "PodSandboxNotReady"
)

// setConditions computes the conditions that belong to the node, in the
// kubelet's order (pkg/kubelet/status/generate.go). Conditions of others, from
// the pod itself, stay, and so does the one that an eviction left.
func setConditions(s *v1.PodStatus, p *v1.Pod, st *pod.Status, old *v1.PodStatus, resize []v1.PodCondition) {
	s.Conditions = othersConditions(p, old, resize)
	add := func(c v1.PodCondition) {
		c.ObservedGeneration = p.Generation
		s.Conditions = append(s.Conditions, c)
	}
	add(readyToStartCondition(judgeSandbox(p, st)))
	add(initialized(s, p, old))
	add(podReady(s, p))
	add(containersReady(s, p))
	add(condition(v1.PodScheduled, true, "", ""))
	if mayRestartAll(p) {
		s.Conditions = append(s.Conditions, allRestarting(s, p, st, old)) // has no generation
	}
}

// readyToStartCondition is GeneratePodReadyToStartContainersCondition of
// pkg/kubelet/status/generate.go.
func readyToStartCondition(v sandboxVerdict) v1.PodCondition {
	if v.newSandboxReason == "" {
		return condition(v1.PodReadyToStartContainers, true, "", "")
	}
	return condition(v1.PodReadyToStartContainers, false, reasonSandboxNotReady, v.newSandboxReason)
}

// othersConditions returns the conditions that are not the node's, those of a resize,
// and that of a disruption as the node saw it.
func othersConditions(p *v1.Pod, old *v1.PodStatus, resize []v1.PodCondition) []v1.PodCondition {
	others := slices.Clone(p.Status.Conditions)
	others = slices.DeleteFunc(others, func(c v1.PodCondition) bool { return owned(c.Type) })
	others = append(others, resize...)
	disruption := conditionOf(old.Conditions, v1.DisruptionTarget)
	if disruption == nil {
		return others
	}
	if c := conditionOf(others, v1.DisruptionTarget); c != nil {
		*c = *disruption
		return others
	}
	return append(others, *disruption)
}

// conditionOf returns the condition of that type, nil if there is none.
func conditionOf(list []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	for i := range list {
		if list[i].Type == t {
			return &list[i]
		}
	}
	return nil
}

// owned reports whether only the node sets conditions of that type
// (pkg/kubelet/types/pod_status.go).
func owned(t v1.PodConditionType) bool { return pod.OwnsCondition(t) && t != v1.DisruptionTarget }

func condition(t v1.PodConditionType, is bool, reason, message string) v1.PodCondition {
	c := v1.PodCondition{Type: t, Status: v1.ConditionFalse, Reason: reason, Message: message}
	if is {
		c.Status = v1.ConditionTrue
	}
	return c
}

func containersReady(s *v1.PodStatus, p *v1.Pod) v1.PodCondition {
	var unknown, unready []string
	look := func(list []v1.ContainerStatus, name string) {
		switch cs := findStatus(list, name); {
		case cs == nil:
			unknown = append(unknown, name)
		case !cs.Ready:
			unready = append(unready, name)
		}
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; pod.IsSidecar(c) {
			look(s.InitContainerStatuses, c.Name)
		}
	}
	for i := range p.Spec.Containers {
		look(s.ContainerStatuses, p.Spec.Containers[i].Name)
	}
	switch {
	case s.Phase == v1.PodSucceeded && len(unknown) == 0:
		return condition(v1.ContainersReady, false, reasonPodCompleted, "")
	case s.Phase == v1.PodFailed:
		return condition(v1.ContainersReady, false, reasonPodFailed, "")
	case len(unknown)+len(unready) > 0:
		return condition(v1.ContainersReady, false, reasonNotReady, unreadyMessage(unknown, unready, "unready"))
	}
	return condition(v1.ContainersReady, true, "", "")
}

// podReady is ContainersReady plus the pod's readiness gates.
func podReady(s *v1.PodStatus, p *v1.Pod) v1.PodCondition {
	ready := containersReady(s, p)
	ready.Type = v1.PodReady
	if ready.Status != v1.ConditionTrue {
		return ready
	}
	var missing []string
	for _, gate := range p.Spec.ReadinessGates {
		switch c := conditionOf(s.Conditions, gate.ConditionType); {
		case c == nil:
			missing = append(missing, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case c.Status != v1.ConditionTrue:
			missing = append(missing, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, c.Status))
		}
	}
	if len(missing) > 0 {
		return condition(v1.PodReady, false, pod.ReadinessGatesNotReady, strings.Join(missing, ", "))
	}
	return ready
}

// initialized is true once the init containers have completed, and from then
// on: also while all containers restart.
func initialized(s *v1.PodStatus, p *v1.Pod, old *v1.PodStatus) v1.PodCondition {
	var unknown, incomplete []string
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		switch cs := findStatus(s.InitContainerStatuses, c.Name); {
		case cs == nil:
			unknown = append(unknown, c.Name)
		case pod.IsSidecar(c) && (cs.Started == nil || !*cs.Started), !pod.IsSidecar(c) && !cs.Ready:
			incomplete = append(incomplete, c.Name)
		}
	}
	switch {
	case s.Phase == v1.PodSucceeded && len(unknown) == 0:
		return condition(v1.PodInitialized, true, reasonPodCompleted, "")
	case anyRegularStarted(s), len(unknown)+len(incomplete) == 0, isTrue(old.Conditions, v1.PodInitialized):
		return condition(v1.PodInitialized, true, "", "")
	}
	return condition(v1.PodInitialized, false, reasonNotInitialized, unreadyMessage(unknown, incomplete, "incomplete"))
}

func isTrue(list []v1.PodCondition, t v1.PodConditionType) bool {
	return slices.ContainsFunc(list, func(c v1.PodCondition) bool { return c.Type == t && c.Status == v1.ConditionTrue })
}

func anyRegularStarted(s *v1.PodStatus) bool {
	for i := range s.ContainerStatuses {
		if st := s.ContainerStatuses[i].State; st.Running != nil || st.Terminated != nil {
			return true
		}
	}
	return false
}

func unreadyMessage(unknown, others []string, what string) string {
	var parts []string
	if len(unknown) > 0 {
		parts = append(parts, fmt.Sprintf("containers with unknown status: %s", unknown))
	}
	if len(others) > 0 {
		parts = append(parts, fmt.Sprintf("containers with %s status: %s", what, others))
	}
	return strings.Join(parts, ", ")
}
