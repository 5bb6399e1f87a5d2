package podsync

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// setReadiness sets Started and Ready: a container without probes is both
// while it runs, an init container is ready once it has succeeded
// (UpdatePodStatus in pkg/kubelet/prober/prober_manager.go).
func setReadiness(s *v1.PodStatus, p *v1.Pod, in StatusInput) {
	for i := range s.InitContainerStatuses {
		cs, c := &s.InitContainerStatuses[i], &p.Spec.InitContainers[i]
		switch {
		case pod.IsSidecar(c):
			setStarted(cs, c.StartupProbe, in.Probes)
			setReady(cs, c, p, in)
		default:
			setStarted(cs, nil, in.Probes)
			if cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0 {
				cs.Ready = true
			}
		}
	}
	for i := range s.ContainerStatuses {
		cs := &s.ContainerStatuses[i]
		if c := specOf(p.Spec.Containers, cs.Name); c != nil {
			setStarted(cs, c.StartupProbe, in.Probes)
			setReady(cs, c, p, in)
		}
	}
}

// setStarted sets Started: by the startup probe's result, else as it was, else
// by whether there is such a probe (isContainerStarted).
func setStarted(cs *v1.ContainerStatus, probe *v1.Probe, probes pod.ProbeResults) {
	result, known := probes.Startup[containerID(cs)]
	started := cs.State.Running != nil
	switch {
	case !started:
	case known:
		started = result == pod.ProbeSuccess
	default:
		started = cs.Started != nil && *cs.Started || probe == nil
	}
	cs.Started = &started
}

// setReady sets Ready of a container that has started: by the readiness
// probe's result. Any other stays as it is.
func setReady(cs *v1.ContainerStatus, c *v1.Container, p *v1.Pod, in StatusInput) {
	if !*cs.Started {
		return
	}
	result := in.Probes.Readiness[containerID(cs)]
	cs.Ready = c.ReadinessProbe == nil || result == pod.ProbeSuccess
	if result == pod.ProbeSuccess || !pod.RanBefore(cs.State.Running.StartedAt.Time, in.Begun) {
		return
	}
	// What an earlier podctl published as ready (see poddir.Record) stays so until its probe has a result.
	if result == pod.ProbeUnknown {
		cs.Ready = true
	}
	if c.ReadinessProbe != nil && !isTrue(p.Status.Conditions, v1.PodReady) {
		cs.Ready = false
	}
}

func containerID(cs *v1.ContainerStatus) string {
	_, id, _ := strings.Cut(cs.ContainerID, "://")
	return id
}

// probed returns the status with what follows from probes brought up to date,
// and everything else as it was. Pure.
func probed(p *v1.Pod, old *v1.PodStatus, in StatusInput) v1.PodStatus {
	s := *old.DeepCopy()
	setReadiness(&s, p, in)
	for _, c := range []v1.PodCondition{initialized(&s, p, old), podReady(&s, p), containersReady(&s, p)} {
		c.ObservedGeneration = p.Generation
		if had := conditionOf(s.Conditions, c.Type); had != nil {
			*had = c
		}
	}
	return s
}
