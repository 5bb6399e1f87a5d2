package podsync

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
)

const (
	reasonPodInitializing   = "PodInitializing"
	reasonContainerCreating = "ContainerCreating"
	reasonCompleted         = "Completed"
	reasonOOMKilled         = "OOMKilled"
	reasonStatusUnknown     = "ContainerStatusUnknown"

	exitLost = 137 // the exit code of a container whose exit was not observed
)

// converter makes the API's container statuses from the runtime's
// (convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go).
type converter struct {
	p  *v1.Pod
	st *pod.Status
	in StatusInput
	// restarting: all containers restart.
	restarting bool
}

// statuses returns one status per container of the spec, in the spec's order.
func (v converter) statuses(containers []v1.Container, old []v1.ContainerStatus, init bool) []v1.ContainerStatus {
	if len(containers) == 0 {
		return nil
	}
	list := make([]v1.ContainerStatus, 0, len(containers))
	for i := range containers {
		c := &containers[i]
		s := v.status(c, findStatus(old, c.Name))
		if !init || !v.initDone(c, &s) {
			v.setWaiting(c, &s)
		}
		list = append(list, s)
	}
	return list
}

// status returns the status of one container: that of its newest run, with the run
// before as its last state; without a run, what can be inferred.
func (v converter) status(c *v1.Container, old *v1.ContainerStatus) v1.ContainerStatus {
	var runs []*pod.ContainerStatus
	for _, cs := range v.st.Containers {
		if cs.Name == c.Name {
			runs = append(runs, cs)
		}
	}
	if len(runs) == 0 {
		return v.absent(c, old)
	}
	s := v.convert(c, runs[0], old)
	if len(runs) > 1 {
		s.LastTerminationState = v.convert(c, runs[1], old).State
	}
	return s
}

// absent returns the status of a container that the runtime does not hold: it was
// not created yet, was removed, or was seen running and then lost.
func (v converter) absent(c *v1.Container, old *v1.ContainerStatus) v1.ContainerStatus {
	s := v.uncreated(c)
	if old == nil {
		return s
	}
	if old.State.Terminated != nil {
		s = *old.DeepCopy()
	} else {
		s.RestartCount = old.RestartCount
		s.LastTerminationState = *old.LastTerminationState.DeepCopy()
	}
	switch {
	case v.restarting && old.State.Waiting == nil:
		removedForRestart(&s, old)
	case old.State.Running == nil, old.State.Terminated != nil, s.LastTerminationState.Terminated != nil:
	default:
		s.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
			Reason:   reasonStatusUnknown,
			Message:  "The container could not be located when the pod was deleted.  The container used to be Running",
			ExitCode: exitLost,
		}
		if v.p.DeletionTimestamp == nil {
			s.RestartCount++
		}
	}
	return s
}

// uncreated returns the status of a container that was never created.
func (v converter) uncreated(c *v1.Container) v1.ContainerStatus {
	reason := reasonContainerCreating
	if len(v.p.Spec.InitContainers) > 0 {
		reason = reasonPodInitializing
	}
	return v1.ContainerStatus{
		Name:         c.Name,
		Image:        c.Image,
		State:        v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}},
		VolumeMounts: volumeMounts(c),
	}
}

// convert returns the status of one run.
func (v converter) convert(c *v1.Container, cs *pod.ContainerStatus, old *v1.ContainerStatus) v1.ContainerStatus {
	s := v1.ContainerStatus{
		Name:               cs.Name,
		RestartCount:       cs.RestartCount,
		Image:              cs.Image,
		ImageID:            cs.ImageRef,
		ContainerID:        v.in.RuntimeName + "://" + cs.ID,
		AllocatedResources: c.Resources.Requests.DeepCopy(),
		Resources:          c.Resources.DeepCopy(),
		User:               user(cs.User),
	}
	if cs.StopSignal != "" && c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		signal := v1.Signal(cs.StopSignal)
		s.StopSignal = &signal
	}
	if old != nil {
		inherit(&s, old, cs)
	}
	if cs.State == pod.Running {
		setResources(&s, cs, old, v.in.Actuated[cs.ID])
	}
	v.setState(&s, cs, old)
	return s
}

// inherit copies from the old status what the runtime does not report. If all
// containers restart together the runtime has no earlier attempts.
func inherit(s, old *v1.ContainerStatus, cs *pod.ContainerStatus) {
	s.VolumeMounts = mountsAsMade(old.VolumeMounts, cs.Mounts)
	s.RestartCount = max(s.RestartCount, old.RestartCount)
	switch {
	case old.ContainerID != s.ContainerID && old.State.Terminated != nil:
		s.LastTerminationState.Terminated = old.State.Terminated.DeepCopy()
	case old.LastTerminationState.Terminated != nil:
		s.LastTerminationState.Terminated = old.LastTerminationState.Terminated.DeepCopy()
	}
	if cs.State != pod.Running {
		return
	}
	s.Started = old.Started
}

// setState sets what the run is doing.
func (v converter) setState(s *v1.ContainerStatus, cs *pod.ContainerStatus, old *v1.ContainerStatus) {
	switch {
	case cs.State == pod.Running:
		s.State.Running = &v1.ContainerStateRunning{StartedAt: metav1.NewTime(cs.StartedAt)}
		if old != nil && old.State.Terminated != nil && old.RestartCount >= cs.RestartCount {
			s.RestartCount = old.RestartCount + 1
		}
	case cs.State == pod.Exited:
		s.State.Terminated = &v1.ContainerStateTerminated{
			ExitCode:    cs.ExitCode,
			Reason:      cs.Reason,
			Message:     cs.Message,
			StartedAt:   metav1.NewTime(cs.StartedAt),
			FinishedAt:  metav1.NewTime(cs.FinishedAt),
			ContainerID: s.ContainerID,
		}
	case cs.State == pod.Unknown && old != nil && old.State.Running != nil:
		s.State.Terminated = lostState()
		if v.restarting {
			s.State.Terminated.Reason = reasonRestartAll
		}
		s.RestartCount = old.RestartCount + 1
	default:
		s.State.Waiting = &v1.ContainerStateWaiting{}
	}
}

// lostState returns the state of a container that was seen running and whose exit was
// not observed.
func lostState() *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{
		Reason:   reasonStatusUnknown,
		Message:  "The container could not be located when the pod was terminated",
		ExitCode: exitLost,
	}
}

// initDone reports whether an init container has completed, so that a failed
// start of it does not count. One that was removed from the runtime is assumed
// to have succeeded if the regular containers exist.
func (v converter) initDone(c *v1.Container, s *v1.ContainerStatus) bool {
	if succeeded(c, v.st) {
		return true
	}
	if v.st.Container(c.Name) != nil || pod.IsSidecar(c) || s.State.Waiting == nil || !anyRegularCreated(v.p, v.st) {
		return false
	}
	s.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		Reason:  reasonCompleted,
		Message: "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
	}}
	return true
}

// setWaiting marks a container that is due to start, and whose last start failed, as
// waiting for that reason.
func (v converter) setWaiting(c *v1.Container, s *v1.ContainerStatus) {
	w, failed := v.in.Waiting[c.Name]
	if !failed || !mustStart(v.p, c, v.st) {
		return
	}
	if s.State.Terminated != nil {
		s.LastTerminationState = s.State
	}
	s.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: w.Reason, Message: w.Message}}
}

func user(u *pod.User) *v1.ContainerUser {
	if u == nil {
		return nil
	}
	return &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: u.UID, GID: u.GID, SupplementalGroups: u.SupplementalGroups}}
}

func byName(a, b v1.ContainerStatus) int { return cmp.Compare(a.Name, b.Name) }
