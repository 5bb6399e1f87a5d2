package podsync

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
)

// setReadiness fills in Started and Ready: a container without probes is both
// while it runs, an init container is ready once it has succeeded
// (UpdatePodStatus in pkg/kubelet/prober/prober_manager.go).
func setReadiness(s *v1.PodStatus, p *v1.Pod, probes pod.ProbeResults) {
	for i := range s.InitContainerStatuses {
		cs, c := &s.InitContainerStatuses[i], &p.Spec.InitContainers[i]
		setStartedReady(cs, c, probes)
		if !pod.IsSidecar(c) {
			cs.Ready = cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0
		}
	}
	for i := range p.Spec.Containers {
		if cs := find(s.ContainerStatuses, p.Spec.Containers[i].Name); cs != nil {
			setStartedReady(cs, &p.Spec.Containers[i], probes)
		}
	}
}

func setStartedReady(cs *v1.ContainerStatus, c *v1.Container, probes pod.ProbeResults) {
	_, id, _ := strings.Cut(cs.ContainerID, "://")
	running := cs.State.Running != nil
	started := running && (c.StartupProbe == nil || probes.Startup[id] == pod.ProbeSuccess)
	cs.Started = &started
	cs.Ready = started && (c.ReadinessProbe == nil || probes.Readiness[id] == pod.ProbeSuccess)
}

// probed is the status with what follows from probes brought up to date, and
// everything else as it was. Pure.
func probed(p *v1.Pod, old *v1.PodStatus, probes pod.ProbeResults, now time.Time) v1.PodStatus {
	s := *old.DeepCopy()
	setReadiness(&s, p, probes)
	ready := containersReady(&s, p)
	for _, c := range []v1.PodCondition{initialized(&s, p, old), podReady(ready, p, s.Conditions), ready} {
		c.ObservedGeneration, c.LastTransitionTime = p.Generation, since(&c, old, now)
		for i := range s.Conditions {
			if s.Conditions[i].Type == c.Type {
				s.Conditions[i] = c
			}
		}
	}
	return s
}

const (
	reasonPodCompleted     = "PodCompleted"
	reasonPodFailed        = "PodFailed"
	reasonNotReady         = "ContainersNotReady"
	reasonNotInitialized   = "ContainersNotInitialized"
	reasonReadinessGatesNo = "ReadinessGatesNotReady"
)

// setConditions computes the conditions that belong to the node, in the
// kubelet's order (pkg/kubelet/status/generate.go). Conditions of others, from
// the pod itself, stay, and so does the one that an eviction left.
func setConditions(s *v1.PodStatus, p *v1.Pod, st *pod.Status, old *v1.PodStatus, restarting bool, now time.Time) {
	var others []v1.PodCondition
	for _, c := range p.Status.Conditions {
		if !owned(c.Type) {
			others = append(others, c)
		}
	}
	for _, c := range old.Conditions {
		if c.Type == v1.DisruptionTarget {
			others = append(slices.DeleteFunc(others, isDisruption), c)
		}
	}
	ready := containersReady(s, p)
	conditions := []v1.PodCondition{
		condition(v1.PodReadyToStartContainers, !judgeSandbox(p, st).changed, "", ""),
		initialized(s, p, old),
		podReady(ready, p, others),
		ready,
		condition(v1.PodScheduled, true, "", ""),
	}
	for i := range conditions {
		conditions[i].ObservedGeneration = p.Generation
	}
	if mayRestartAll(p) {
		conditions = append(conditions, allRestarting(s, p, st, restarting))
	}
	for i := range conditions {
		conditions[i].LastTransitionTime = since(&conditions[i], old, now)
	}
	s.Conditions = append(others, conditions...)
}

func owned(t v1.PodConditionType) bool {
	switch t {
	case v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled, v1.AllContainersRestarting:
		return true
	}
	return false
}

func isDisruption(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget }

func condition(t v1.PodConditionType, is bool, reason, message string) v1.PodCondition {
	c := v1.PodCondition{Type: t, Status: v1.ConditionFalse, Reason: reason, Message: message}
	if is {
		c.Status = v1.ConditionTrue
	}
	return c
}

// since is when the condition took its present value.
func since(c *v1.PodCondition, old *v1.PodStatus, now time.Time) metav1.Time {
	for i := range old.Conditions {
		if o := &old.Conditions[i]; o.Type == c.Type && o.Status == c.Status && !o.LastTransitionTime.IsZero() {
			return o.LastTransitionTime
		}
	}
	return metav1.NewTime(now)
}

func containersReady(s *v1.PodStatus, p *v1.Pod) v1.PodCondition {
	var unknown, unready []string
	look := func(list []v1.ContainerStatus, name string) {
		switch cs := find(list, name); {
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
		return condition(v1.ContainersReady, false, reasonNotReady, listing(unknown, unready, "unready"))
	}
	return condition(v1.ContainersReady, true, "", "")
}

// podReady is ContainersReady plus the pod's readiness gates.
func podReady(containers v1.PodCondition, p *v1.Pod, others []v1.PodCondition) v1.PodCondition {
	if containers.Status != v1.ConditionTrue {
		containers.Type = v1.PodReady
		return containers
	}
	var missing []string
	for _, gate := range p.Spec.ReadinessGates {
		if m := gateMissing(gate.ConditionType, others); m != "" {
			missing = append(missing, m)
		}
	}
	if len(missing) > 0 {
		return condition(v1.PodReady, false, reasonReadinessGatesNo, strings.Join(missing, ", "))
	}
	return condition(v1.PodReady, true, "", "")
}

func gateMissing(t v1.PodConditionType, conditions []v1.PodCondition) string {
	for _, c := range conditions {
		if c.Type != t {
			continue
		}
		if c.Status == v1.ConditionTrue {
			return ""
		}
		return fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", t, c.Status)
	}
	return fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", t)
}

// initialized is true once the init containers have done their work, and from
// then on: also while all containers start anew.
func initialized(s *v1.PodStatus, p *v1.Pod, old *v1.PodStatus) v1.PodCondition {
	var unknown, incomplete []string
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		switch cs := find(s.InitContainerStatuses, c.Name); {
		case cs == nil:
			unknown = append(unknown, c.Name)
		case pod.IsSidecar(c) && !*cs.Started, !pod.IsSidecar(c) && !cs.Ready:
			incomplete = append(incomplete, c.Name)
		}
	}
	switch {
	case s.Phase == v1.PodSucceeded && len(unknown) == 0:
		return condition(v1.PodInitialized, true, reasonPodCompleted, "")
	case anyRegularStarted(s), len(unknown)+len(incomplete) == 0, wasInitialized(old):
		return condition(v1.PodInitialized, true, "", "")
	}
	return condition(v1.PodInitialized, false, reasonNotInitialized, listing(unknown, incomplete, "incomplete"))
}

func wasInitialized(old *v1.PodStatus) bool {
	return slices.ContainsFunc(old.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodInitialized && c.Status == v1.ConditionTrue
	})
}

func anyRegularStarted(s *v1.PodStatus) bool {
	for i := range s.ContainerStatuses {
		if st := s.ContainerStatuses[i].State; st.Running != nil || st.Terminated != nil {
			return true
		}
	}
	return false
}

func listing(unknown, others []string, what string) string {
	var parts []string
	if len(unknown) > 0 {
		parts = append(parts, fmt.Sprintf("containers with unknown status: %s", unknown))
	}
	if len(others) > 0 {
		parts = append(parts, fmt.Sprintf("containers with %s status: %s", what, others))
	}
	return strings.Join(parts, ", ")
}
