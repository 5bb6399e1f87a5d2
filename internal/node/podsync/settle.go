package podsync

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
)

// maxMessages is how many bytes the termination messages of a pod may have,
// shared equally by its containers.
const maxMessages = 12 << 10

// maxWaiting is to how many bytes the message of a container that waits is cut.
const maxWaiting = 10 << 10

// illegalTransition returns the error for a status that is refused: a container, of a
// kind, that has terminated for good would run or wait.
func illegalTransition(kind, name string) error {
	return fmt.Errorf("terminated %s %q attempted illegal transition to non-terminated state", kind, name)
}

// Settle returns what is kept of a status that PodStatus computed: with start
// time, times of transitions, and bounded messages; old itself where nothing
// has changed that concerns the node. Old is the status kept so far, nil for
// none (SetPodStatus in pkg/kubelet/status/status_manager.go).
func Settle(p *v1.Pod, old *v1.PodStatus, s v1.PodStatus, now time.Time) (v1.PodStatus, error) {
	s = *s.DeepCopy()
	s.ObservedGeneration = p.Generation
	if err := settle(p, old, &s, now); err != nil {
		return v1.PodStatus{}, err
	}
	if old != nil && p.DeletionTimestamp == nil && sameForNode(old, &s) {
		return *old.DeepCopy(), nil
	}
	return s, nil
}

// settle makes s the successor of old, or of the status in the pod
// (updateStatusInternal).
func settle(p *v1.Pod, old *v1.PodStatus, s *v1.PodStatus, now time.Time) error {
	if old == nil {
		old = &p.Status
	}
	if err := checkTransitions(p, old, s); err != nil {
		return err
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; nodeSets(c.Type) && conditionOf(s.Conditions, c.Type) == c {
			c.LastTransitionTime = transitionTime(c, old, now)
		}
	}
	if !old.StartTime.IsZero() {
		s.StartTime = old.StartTime.DeepCopy()
	} else if s.StartTime.IsZero() {
		s.StartTime = &metav1.Time{Time: now}
	}
	s.ObservedGeneration = max(s.ObservedGeneration, old.ObservedGeneration)
	normalize(p, s)
	return nil
}

// nodeSets reports whether the time of the condition is the node's to set.
func nodeSets(t v1.PodConditionType) bool {
	return t == v1.DisruptionTarget || owned(t) && t != v1.PodResizePending && t != v1.PodResizeInProgress
}

// transitionTime returns when the condition took its present value.
func transitionTime(c *v1.PodCondition, old *v1.PodStatus, now time.Time) metav1.Time {
	if o := conditionOf(old.Conditions, c.Type); o != nil && o.Status == c.Status {
		return o.LastTransitionTime
	}
	return metav1.NewTime(now)
}

// normalize cuts the pod's own times to seconds, each termination message to its
// container's share, and each message of one that waits. Times of containers stay exact: they are cut when
// they are encoded, and events show short runs (normalizeStatus).
func normalize(p *v1.Pod, s *v1.PodStatus) {
	cut(s.StartTime)
	for i := range s.Conditions {
		cut(&s.Conditions[i].LastProbeTime)
		cut(&s.Conditions[i].LastTransitionTime)
	}
	slices.SortFunc(s.EphemeralContainerStatuses, byName)
	share := maxMessages
	if n := len(p.Spec.Containers) + len(p.Spec.InitContainers) + len(p.Spec.EphemeralContainers); n > 0 {
		share /= n
	}
	for state := range states(s) {
		if end := state.Terminated; end != nil {
			end.Message = end.Message[:min(share, len(end.Message))]
		}
		if w := state.Waiting; w != nil {
			w.Message = w.Message[:min(maxWaiting, len(w.Message))]
		}
	}
}

func cut(t *metav1.Time) {
	if t != nil {
		*t = t.Rfc3339Copy()
	}
}

// cutRuns returns the status with the times of containers cut to seconds.
func cutRuns(s *v1.PodStatus) *v1.PodStatus {
	s = s.DeepCopy()
	for state := range states(s) {
		if state.Running != nil {
			cut(&state.Running.StartedAt)
		}
		if end := state.Terminated; end != nil {
			cut(&end.StartedAt)
			cut(&end.FinishedAt)
		}
	}
	return s
}

// states returns the present and last states of all containers.
func states(s *v1.PodStatus) iter.Seq[*v1.ContainerState] {
	return func(yield func(*v1.ContainerState) bool) {
		for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
			for i := range list {
				if !yield(&list[i].State) || !yield(&list[i].LastTerminationState) {
					return
				}
			}
		}
	}
}

// checkTransitions refuses a status in which a container leaves the terminated
// state although nothing restarts it (checkContainerStateTransition).
func checkTransitions(p *v1.Pod, old, s *v1.PodStatus) error {
	if p.Spec.RestartPolicy == v1.RestartPolicyAlways || mayRestartAll(p) {
		return nil
	}
	for i := range old.ContainerStatuses {
		o := &old.ContainerStatuses[i]
		if leavesTerminated(p, specOf(p.Spec.Containers, o.Name), o, s.ContainerStatuses) {
			return illegalTransition("container", o.Name)
		}
	}
	for i := range old.InitContainerStatuses {
		o := &old.InitContainerStatuses[i]
		if i >= len(p.Spec.InitContainers) || p.Spec.InitContainers[i].Name != o.Name {
			return fmt.Errorf("found mismatch between pod spec and status, container: %v", o.Name)
		}
		c := &p.Spec.InitContainers[i]
		if !pod.IsSidecar(c) && leavesTerminated(p, c, o, s.InitContainerStatuses) {
			return illegalTransition("init container", o.Name)
		}
	}
	return nil
}

// leavesTerminated reports whether the container, which may be nil, has
// terminated for good by its old status and not by its new one.
func leavesTerminated(p *v1.Pod, c *v1.Container, old *v1.ContainerStatus, now []v1.ContainerStatus) bool {
	end := old.State.Terminated
	switch {
	case end == nil,
		end.ExitCode != 0 && p.Spec.RestartPolicy == v1.RestartPolicyOnFailure,
		c != nil && restartsAfter(c, &p.Spec, end.ExitCode):
		return false
	}
	s := findStatus(now, old.Name)
	return s != nil && s.State.Terminated == nil
}

func specOf(list []v1.Container, name string) *v1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// sameForNode reports whether two statuses differ at most in what others set
// and in times of conditions (isPodStatusByKubeletEqual).
func sameForNode(old, s *v1.PodStatus) bool {
	a, b := nodeConditions(old), nodeConditions(s)
	if len(a) != len(b) {
		return false
	}
	for t, c := range b {
		if o, ok := a[t]; !ok || o.Status != c.Status || o.Reason != c.Reason || o.Message != c.Message {
			return false
		}
	}
	o := *old
	o.Conditions = s.Conditions
	o.ResourceClaimStatuses = s.ResourceClaimStatuses
	o.ExtendedResourceClaimStatus = s.ExtendedResourceClaimStatus
	o.NodeAllocatableResourceClaimStatuses = s.NodeAllocatableResourceClaimStatuses
	return sameEncoding(&o, s) || equality.Semantic.DeepEqual(cutRuns(&o), cutRuns(s))
}

// sameEncoding reports whether two statuses have the same encoding, which has times in
// seconds. Most statuses are those of before, and this is a tenth of the comparison.
func sameEncoding(a, b *v1.PodStatus) bool {
	x, errX := a.Marshal()
	y, errY := b.Marshal()
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func nodeConditions(s *v1.PodStatus) map[v1.PodConditionType]v1.PodCondition {
	all := map[v1.PodConditionType]v1.PodCondition{}
	for _, c := range s.Conditions {
		if pod.OwnsCondition(c.Type) {
			all[c.Type] = c
		}
	}
	return all
}
