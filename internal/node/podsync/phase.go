package podsync

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// tally counts a pod's containers by what they mean for its phase.
type tally struct {
	// Init containers that run to their end.
	initPending, initLost int
	// Sidecars that have not started up.
	sidecarsPending int
	// Sidecars and regular containers.
	unknown, running, waiting int
	// Regular containers: those that have exited, of them those that never
	// start again, and of them those that exited with 0.
	stopped, final, succeeded int
}

// phase returns the pod's phase by its container statuses. Ended: no container
// restarts; active: a regular container was created in the present sandbox, so
// that a restarting sidecar does not make the pod Pending again (getPhase in pkg/kubelet/kubelet_pods.go).
func phase(p *v1.Pod, s *v1.PodStatus, ended, active bool) v1.PodPhase {
	t := countContainers(p, s)
	switch {
	case t.initLost > 0:
		return v1.PodFailed
	case t.initPending > 0, t.sidecarsPending > 0 && !active, t.waiting > 0:
		return v1.PodPending
	case t.running > 0 && t.unknown == 0:
		return v1.PodRunning
	case t.running == 0 && t.stopped > 0 && t.unknown == 0:
		return t.stoppedPhase(ended && !pod.IsStatic(p))
	default:
		return v1.PodPending
	}
}

// stoppedPhase returns the phase of a pod without running containers.
func (t *tally) stoppedPhase(ended bool) v1.PodPhase {
	switch {
	case !ended && t.final < t.stopped:
		return v1.PodRunning // something starts again
	case t.succeeded == t.stopped:
		return v1.PodSucceeded
	default:
		return v1.PodFailed
	}
}

func countContainers(p *v1.Pod, s *v1.PodStatus) tally {
	var t tally
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		cs := findStatus(s.InitContainerStatuses, c.Name)
		if pod.IsSidecar(c) {
			t.sidecar(cs)
		} else {
			t.initContainer(c, &p.Spec, cs)
		}
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		t.regular(c, &p.Spec, findStatus(s.ContainerStatuses, c.Name))
	}
	return t
}

func (t *tally) initContainer(c *v1.Container, spec *v1.PodSpec, cs *v1.ContainerStatus) {
	end := lastTermination(cs)
	switch {
	case end == nil:
		t.initPending++
	case end.ExitCode != 0 && !startsAgain(c, spec, end):
		t.initLost++
	}
}

func (t *tally) sidecar(cs *v1.ContainerStatus) {
	switch {
	case cs == nil:
		t.unknown++
	case cs.State.Running != nil:
		if cs.Started == nil || !*cs.Started {
			t.sidecarsPending++
		}
		t.running++
	case lastTermination(cs) != nil: // a terminated sidecar does not count
	case cs.State.Waiting != nil:
		t.sidecarsPending++
		t.waiting++
	default:
		t.sidecarsPending++
		t.unknown++
	}
}

func (t *tally) regular(c *v1.Container, spec *v1.PodSpec, cs *v1.ContainerStatus) {
	end := lastTermination(cs)
	switch {
	case cs == nil:
		t.unknown++
	case cs.State.Running != nil:
		t.running++
	case end != nil:
		t.stopped++
		if !startsAgain(c, spec, end) {
			t.final++
		}
		if cs.State.Terminated != nil && end.ExitCode == 0 {
			t.succeeded++
		}
	case cs.State.Waiting != nil:
		t.waiting++
	default:
		t.unknown++
	}
}

// startsAgain reports whether another run follows that one.
func startsAgain(c *v1.Container, spec *v1.PodSpec, end *v1.ContainerStateTerminated) bool {
	return end.Reason == reasonRestartAll || restartsAfter(c, spec, end.ExitCode)
}

// lastTermination returns how the container's present run terminated or, where it waits to
// restart, its last one; nil if neither has.
func lastTermination(cs *v1.ContainerStatus) *v1.ContainerStateTerminated {
	switch {
	case cs == nil:
		return nil
	case cs.State.Terminated != nil:
		return cs.State.Terminated
	case cs.State.Waiting != nil:
		return cs.LastTerminationState.Terminated
	default:
		return nil
	}
}

func findStatus(list []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// hasActiveRegularContainer reports whether the newest sandbox is ready and has a regular
// container, in any state: then every init container has completed
// (HasAnyActiveRegularContainerStarted in pkg/kubelet/container/helpers.go).
func hasActiveRegularContainer(p *v1.Pod, st *pod.Status) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c v1.Container) bool { return st.ActiveContainer(c.Name) != nil })
}
