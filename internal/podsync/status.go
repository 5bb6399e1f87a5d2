package podsync

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Waiting is why a container could not be started: its reason
// ("ImagePullBackOff") and the words to it.
type Waiting struct {
	Reason, Message string
}

// StatusInput is what PodStatus goes by, beside the pod and its status.
type StatusInput struct {
	// Old is the pod's status so far, nil to begin with the one in the pod.
	Old *v1.PodStatus
	// Waiting are the failed starts, by container name.
	Waiting map[string]Waiting
	Probes  pod.ProbeResults
	// HostIPs are the node's addresses, primary first.
	HostIPs []string
	// RuntimeName is the runtime's name, for container ids
	// ("containerd://…").
	RuntimeName string
	// Ended tells that the containers will not run again, whatever their
	// policies say.
	Ended bool
	Now   time.Time
}

// The reason and words of a pod that outlived activeDeadlineSeconds
// (pkg/kubelet/active_deadline.go).
const (
	reasonDeadline  = "DeadlineExceeded"
	messageDeadline = "Pod was active on the node longer than the specified deadline"
)

// PodStatus is the status that kubectl would show: pure, from the pod, what
// the runtime holds of it, and what was said before
// (generateAPIPodStatus in pkg/kubelet/kubelet_pods.go).
func PodStatus(p *v1.Pod, st *pod.Status, in StatusInput) v1.PodStatus {
	old := &p.Status
	if in.Old != nil {
		old = in.Old
	}
	s := v1.PodStatus{
		ObservedGeneration: p.Generation,
		QOSClass:           pod.QOS(p),
		StartTime:          startTime(st, old, in.Now),
		Resources:          pod.Resources(p),
		AllocatedResources: pod.Requests(p),
	}
	setIPs(&s, p, st, in.HostIPs)

	restarting := restartingAll(p, st, old)
	conv := converter{p: p, st: st, in: in, restarting: restarting}
	s.InitContainerStatuses = conv.all(p.Spec.InitContainers, old.InitContainerStatuses, true)
	s.ContainerStatuses = conv.all(p.Spec.Containers, old.ContainerStatuses, false)
	slices.SortFunc(s.ContainerStatuses, byName)

	boundMessages(&s, p)

	setPhase(&s, p, st, old, in)
	setReadiness(&s, p, in.Probes)
	setConditions(&s, p, st, old, restarting, in.Now)
	return s
}

// startTime is when the node took the pod on: never changed once set, and for
// an adopted pod no later than its first sandbox.
func startTime(st *pod.Status, old *v1.PodStatus, now time.Time) *metav1.Time {
	if old.StartTime != nil && !old.StartTime.IsZero() {
		return old.StartTime.DeepCopy()
	}
	start := now
	for _, s := range st.Sandboxes {
		if !s.CreatedAt.IsZero() && s.CreatedAt.Before(start) {
			start = s.CreatedAt
		}
	}
	return &metav1.Time{Time: start}
}

// setIPs gives a pod on the host's network the host's addresses, and any
// other those of its sandbox.
func setIPs(s *v1.PodStatus, p *v1.Pod, st *pod.Status, hostIPs []string) {
	for _, ip := range hostIPs {
		s.HostIPs = append(s.HostIPs, v1.HostIP{IP: ip})
	}
	if len(hostIPs) > 0 {
		s.HostIP = hostIPs[0]
	}
	ips := pod.OrderIPs(st.IPs, hostIPs)
	if pod.IsHostNetwork(p) {
		ips = hostIPs
	}
	for _, ip := range ips {
		s.PodIPs = append(s.PodIPs, v1.PodIP{IP: ip})
	}
	if len(ips) > 0 {
		s.PodIP = ips[0]
	}
}

// setPhase computes phase, reason and message. A terminal phase is final.
func setPhase(s *v1.PodStatus, p *v1.Pod, st *pod.Status, old *v1.PodStatus, in StatusInput) {
	s.Phase = phase(p, s, in.Ended, activeRegular(p, st))
	if pod.IsTerminal(old.Phase) {
		s.Phase = old.Phase
	}
	if s.Phase == old.Phase {
		s.Reason = cmp.Or(old.Reason, p.Status.Reason)
		s.Message = cmp.Or(old.Message, p.Status.Message)
	}
	if at, ok := Deadline(p, *s); ok && !pod.IsTerminal(old.Phase) && !in.Now.Before(at) {
		s.Phase, s.Reason, s.Message = v1.PodFailed, reasonDeadline, messageDeadline
	}
}

// Deadline is when the pod's activeDeadlineSeconds are over, and whether it
// has any. The caller sees to it that the pod is synced then.
func Deadline(p *v1.Pod, s v1.PodStatus) (time.Time, bool) {
	if p.Spec.ActiveDeadlineSeconds == nil || s.StartTime == nil {
		return time.Time{}, false
	}
	return s.StartTime.Add(time.Duration(*p.Spec.ActiveDeadlineSeconds) * time.Second), true
}
