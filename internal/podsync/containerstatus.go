package podsync

import (
	"cmp"
	"slices"

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

	exitLost = 137 // the code of a container whose end nobody saw
)

// converter makes the API's container statuses from the runtime's
// (convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go).
type converter struct {
	p  *v1.Pod
	st *pod.Status
	in StatusInput
	// restarting: all containers start anew.
	restarting bool
}

// all is one status per container of the spec, in the spec's order.
func (v converter) all(containers []v1.Container, old []v1.ContainerStatus, init bool) []v1.ContainerStatus {
	if len(containers) == 0 {
		return nil
	}
	list := make([]v1.ContainerStatus, 0, len(containers))
	for i := range containers {
		c := &containers[i]
		s := v.one(c, find(old, c.Name))
		if !init || !v.initDone(c, &s) {
			v.waits(c, &s)
		}
		list = append(list, s)
	}
	return list
}

// one is the status of one container: that of its newest run, with the run
// before as its last state; without a run, what can be inferred.
func (v converter) one(c *v1.Container, old *v1.ContainerStatus) v1.ContainerStatus {
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
	switch {
	case len(runs) > 1:
		s.LastTerminationState = v.convert(c, runs[1], old).State
	case old != nil && old.ContainerID != s.ContainerID && old.State.Terminated != nil:
		s.LastTerminationState.Terminated = old.State.Terminated.DeepCopy()
	case old != nil && old.LastTerminationState.Terminated != nil:
		s.LastTerminationState.Terminated = old.LastTerminationState.Terminated.DeepCopy()
	}
	if last := s.LastTerminationState.Terminated; last != nil && s.State.Terminated != nil && last.ContainerID == s.ContainerID {
		s.LastTerminationState = v1.ContainerState{} // while it waited to start again, it was
	}
	return s
}

// absent is the status of a container that the runtime does not hold: it has
// not been made yet, or it was seen running and then got lost.
func (v converter) absent(c *v1.Container, old *v1.ContainerStatus) v1.ContainerStatus {
	reason := reasonContainerCreating
	if len(v.p.Spec.InitContainers) > 0 {
		reason = reasonPodInitializing
	}
	s := v1.ContainerStatus{
		Name:         c.Name,
		Image:        c.Image,
		State:        v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}},
		VolumeMounts: volumeMounts(c, nil),
	}
	if old == nil {
		return s
	}
	if v.restarting && old.State.Waiting == nil {
		restartAll(&s, old)
		return s
	}
	if old.State.Terminated != nil {
		return *old.DeepCopy()
	}
	s.RestartCount = old.RestartCount
	s.LastTerminationState = *old.LastTerminationState.DeepCopy()
	if old.State.Running != nil && s.LastTerminationState.Terminated == nil {
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

// convert is the status of one run.
func (v converter) convert(c *v1.Container, cs *pod.ContainerStatus, old *v1.ContainerStatus) v1.ContainerStatus {
	s := v1.ContainerStatus{
		Name:               cs.Name,
		RestartCount:       cs.RestartCount,
		Image:              cs.Image,
		ImageID:            cs.ImageRef,
		ContainerID:        v.in.RuntimeName + "://" + cs.ID,
		VolumeMounts:       volumeMounts(c, cs.Mounts),
		AllocatedResources: c.Resources.Requests.DeepCopy(),
		Resources:          c.Resources.DeepCopy(),
		User:               user(cs.User),
	}
	if cs.StopSignal != "" {
		signal := v1.Signal(cs.StopSignal)
		s.StopSignal = &signal
	}
	if old != nil {
		s.RestartCount = max(s.RestartCount, old.RestartCount)
	}
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
		s.State.Terminated = lost()
		if v.restarting {
			s.State.Terminated.Reason = reasonRestartAll
		}
		s.RestartCount = old.RestartCount + 1
	default:
		s.State.Waiting = &v1.ContainerStateWaiting{}
	}
	return s
}

// lost is the end of a container that was seen running and whose end was not.
func lost() *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{
		Reason:   reasonStatusUnknown,
		Message:  "The container could not be located when the pod was terminated",
		ExitCode: exitLost,
	}
}

// initDone tells whether an init container has done its work, so that no
// failed start of it counts any more. One that was removed from the runtime
// meanwhile is taken to have succeeded if the regular containers exist.
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

// waits shows a container that is to start, and whose last start failed, as
// waiting with the reason of that. Of a pod that has ended none is to start:
// how its containers ended is what is left to say.
func (v converter) waits(c *v1.Container, s *v1.ContainerStatus) {
	w, failed := v.in.Waiting[c.Name]
	if !failed || v.in.Ended || !mustStart(v.p, c, v.st) {
		return
	}
	if s.State.Terminated != nil {
		s.LastTerminationState = s.State
	}
	s.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: w.Reason, Message: w.Message}}
}

// volumeMounts are the container's mounts. Whether one is read-only all the
// way down is what the runtime says, where it has the container: the kubelet
// infers it from what the runtime can do.
func volumeMounts(c *v1.Container, made []pod.Mount) []v1.VolumeMountStatus {
	var list []v1.VolumeMountStatus
	for _, m := range c.VolumeMounts {
		s := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			mode := v1.RecursiveReadOnlyDisabled
			if slices.ContainsFunc(made, func(r pod.Mount) bool { return r.ContainerPath == m.MountPath && r.RecursiveReadOnly }) {
				mode = v1.RecursiveReadOnlyEnabled
			}
			s.RecursiveReadOnly = &mode
		}
		list = append(list, s)
	}
	return list
}

func user(u *pod.User) *v1.ContainerUser {
	if u == nil {
		return nil
	}
	return &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: u.UID, GID: u.GID, SupplementalGroups: u.SupplementalGroups}}
}

func byName(a, b v1.ContainerStatus) int { return cmp.Compare(a.Name, b.Name) }
