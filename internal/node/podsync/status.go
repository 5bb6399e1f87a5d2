package podsync

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/pod"
)

// Waiting is why a container could not be started: its reason
// ("ImagePullBackOff") and message, and its back-off.
type Waiting struct {
	Reason, Message string
	BackOff         BackOff
}

// BackOff is the back-off of a container that waits. The zero value is none.
type BackOff struct {
	// RetryAt is when it ends.
	RetryAt time.Time
	// Delay is the whole back-off, 0 if that is not known.
	Delay time.Duration
}

// StatusInput is what PodStatus depends on, besides the pod and what the
// runtime holds of it.
type StatusInput struct {
	// Old is the pod's status so far, nil for the one in the pod.
	Old *v1.PodStatus
	// Waiting are the failed starts, by container name.
	Waiting map[string]Waiting
	Probes  pod.ProbeResults
	// HostIPs are the node's addresses, primary first; at most the first two
	// count.
	HostIPs []string
	// RuntimeName is the runtime's name, for container ids
	// ("containerd://…").
	RuntimeName string
	// Actuated is what the running containers were given, by container id.
	Actuated map[string]pod.Amounts
	// PodResources is what the pod as a whole was given, nil for what it asks for.
	PodResources *v1.ResourceRequirements
	// Resize are the conditions of a resize.
	Resize []v1.PodCondition
	// Ended: the containers do not restart, whatever their policies are.
	Ended bool
	// Begun is when podctl started: a container that started well before was
	// started by an earlier one. Zero where that does not matter.
	Begun time.Time
	Now   time.Time
}

// The reason and message of a pod that exceeded activeDeadlineSeconds
// (pkg/kubelet/active_deadline.go).
const (
	reasonDeadline  = "DeadlineExceeded"
	messageDeadline = "Pod was active on the node longer than the specified deadline"
)

// PodStatus returns the pod's next status, but for what Settle sets: pure, from
// the pod, what the runtime holds of it, and the status so far. The status in
// the pod is the one that an API server holds
// (generateAPIPodStatus in pkg/kubelet/kubelet_pods.go).
func PodStatus(p *v1.Pod, st *pod.Status, in StatusInput) v1.PodStatus {
	old := &p.Status
	if in.Old != nil {
		old = in.Old
	}
	s := v1.PodStatus{
		QOSClass:           pod.QOS(p),
		Resources:          podResources(p, old, in.PodResources),
		AllocatedResources: pod.Requests(p),
	}
	conv := converter{p: p, st: st, in: in, restarting: RestartsAll(p, st, old)}
	s.ContainerStatuses = conv.statuses(p.Spec.Containers, old.ContainerStatuses, false)
	s.InitContainerStatuses = conv.statuses(p.Spec.InitContainers, old.InitContainerStatuses, true)
	s.EphemeralContainerStatuses = conv.statuses(ephemeral(p), old.EphemeralContainerStatuses, false)
	slices.SortFunc(s.ContainerStatuses, byName)

	setPhase(&s, p, st, old, in)
	setReadiness(&s, p, in)
	setConditions(&s, p, st, old, in.Resize)
	setIPs(&s, p, st, in.HostIPs)
	return s
}

// podResources returns what a running pod was given as a whole; before that, what it asks
// for (convertToAPIPodLevelResourcesStatus in pkg/kubelet/kubelet_pods.go).
func podResources(p *v1.Pod, old *v1.PodStatus, given *v1.ResourceRequirements) *v1.ResourceRequirements {
	if given == nil || old.Phase != v1.PodRunning {
		return pod.Resources(p)
	}
	return given.DeepCopy()
}

// ephemeral returns the pod's ephemeral containers, nil without any.
func ephemeral(p *v1.Pod) []v1.Container {
	var list []v1.Container
	for i := range p.Spec.EphemeralContainers {
		list = append(list, *pod.Ephemeral(&p.Spec.EphemeralContainers[i]))
	}
	return list
}

// setIPs sets the addresses: those of the pod's sandbox; for a pod on the
// host's network the host's, where the runtime does not report any.
func setIPs(s *v1.PodStatus, p *v1.Pod, st *pod.Status, hostIPs []string) {
	hostIPs = hostIPs[:min(2, len(hostIPs))]
	for _, ip := range hostIPs {
		s.HostIPs = append(s.HostIPs, v1.HostIP{IP: ip})
	}
	ips := pod.OrderIPs(st.IPs, hostIPs)
	if pod.IsHostNetwork(p) && len(hostIPs) > 0 {
		switch {
		case len(ips) == 0:
			ips = pod.OrderIPs(hostIPs, hostIPs)
		case len(ips) == 1 && len(hostIPs) == 2:
			ips = pod.OrderIPs([]string{ips[0], hostIPs[1]}, ips)
		}
	}
	for _, ip := range ips {
		s.PodIPs = append(s.PodIPs, v1.PodIP{IP: ip})
	}
	if len(hostIPs) > 0 {
		s.HostIP = hostIPs[0]
	}
	if len(ips) > 0 {
		s.PodIP = ips[0]
	}
}

// setPhase sets phase, reason and message. A pod does not leave a terminal
// phase, but may change from the one to the other.
func setPhase(s *v1.PodStatus, p *v1.Pod, st *pod.Status, old *v1.PodStatus, in StatusInput) {
	s.Phase = phase(p, s, in.Ended, hasActiveRegularContainer(p, st))
	switch {
	case pod.IsTerminal(s.Phase):
	case pod.IsTerminal(old.Phase):
		s.Phase = old.Phase
	case pod.IsTerminal(p.Status.Phase):
		s.Phase = p.Status.Phase
	}
	if s.Phase == old.Phase {
		s.Reason = cmp.Or(old.Reason, p.Status.Reason)
		s.Message = cmp.Or(old.Message, p.Status.Message)
	}
	if at, ok := Deadline(p, *old); ok && !in.Now.Before(at) {
		s.Phase, s.Reason, s.Message = v1.PodFailed, reasonDeadline, messageDeadline
	}
	if pod.IsTerminal(p.Status.Phase) {
		s.Phase = p.Status.Phase
	}
}

// Deadline returns when the pod exceeds its activeDeadlineSeconds, and whether
// it has any. The caller syncs the pod then.
func Deadline(p *v1.Pod, s v1.PodStatus) (time.Time, bool) {
	if p.Spec.ActiveDeadlineSeconds == nil || s.StartTime.IsZero() {
		return time.Time{}, false
	}
	return s.StartTime.Add(time.Duration(*p.Spec.ActiveDeadlineSeconds) * time.Second), true
}

// volumeMounts returns the statuses of the mounts that a container is to have.
func volumeMounts(c *v1.Container) []v1.VolumeMountStatus {
	var list []v1.VolumeMountStatus
	for _, m := range c.VolumeMounts {
		s := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			s.RecursiveReadOnly = recursive(false)
		}
		list = append(list, s)
	}
	return list
}

// mountsAsMade returns the statuses of mounts of a container that the runtime
// holds. Whether one is recursively read-only is what the runtime reports,
// where it reports mounts; the kubelet infers it from what the runtime
// supports.
func mountsAsMade(list []v1.VolumeMountStatus, made []pod.Mount) []v1.VolumeMountStatus {
	list = slices.Clone(list)
	for i := range list {
		s := &list[i]
		if s.ReadOnly && len(made) > 0 {
			s.RecursiveReadOnly = recursive(slices.ContainsFunc(made, func(m pod.Mount) bool {
				return m.ContainerPath == s.MountPath && m.RecursiveReadOnly
			}))
		}
	}
	return list
}

func recursive(enabled bool) *v1.RecursiveReadOnlyMode {
	mode := v1.RecursiveReadOnlyDisabled
	if enabled {
		mode = v1.RecursiveReadOnlyEnabled
	}
	return &mode
}

// setResources shows the CPU time and the memory that a running container has: as
// the runtime enforces them, where it says, else as it was given them, else as they were.
// A request of memory no runtime enforces. What does not differ
// by more than the runtime can express is shown as it was asked for
// (convertContainerStatusResources in pkg/kubelet/kubelet_pods.go).
func setResources(s *v1.ContainerStatus, cs *pod.ContainerStatus, old *v1.ContainerStatus, given pod.Amounts) {
	var before v1.ResourceRequirements
	if old != nil && old.State.Running != nil && old.ContainerID == s.ContainerID && old.Resources != nil {
		before = *old.Resources
	}
	var has pod.Enforced
	if cs.Resources != nil {
		has = *cs.Resources
	}
	cpu := func(milli, least int64) shown {
		return shown{v1.ResourceCPU, milli, resource.NewMilliQuantity(milli, resource.DecimalSI), least}
	}
	memory := shown{v1.ResourceMemory, has.MemoryLimit, resource.NewQuantity(has.MemoryLimit, resource.BinarySI), -1}
	limits, requests := s.Resources.Limits, s.Resources.Requests
	cpu(pod.MilliOfQuota(has.CPUQuota, has.CPUPeriod), pod.MinCPULimit).in(limits, before.Limits)
	memory.in(limits, before.Limits)
	cpu(pod.MilliOfShares(has.CPUShares), pod.MinCPUShares).in(requests, before.Requests)
	requested := shown{v1.ResourceMemory, given.MemoryRequest, resource.NewQuantity(given.MemoryRequest, resource.BinarySI), -1}
	requested.in(requests, before.Requests)
}

// shown is an amount that the runtime enforces.
type shown struct {
	name v1.ResourceName
	// amount is 0 where the runtime does not say.
	amount   int64
	quantity *resource.Quantity
	// least is the amount up to which two do not differ.
	least int64
}

// in sets the amount that the runtime enforces in a resource list of the status, else
// the amount of before. A nil list stays nil.
func (s shown) in(list, before v1.ResourceList) {
	switch {
	case list == nil:
	case s.amount > 0:
		asked := list[s.name]
		if s.amount > s.least || asked.MilliValue() > s.least {
			list[s.name] = s.quantity.DeepCopy()
		}
	default:
		if q, ok := before[s.name]; ok {
			list[s.name] = q.DeepCopy()
		}
	}
}
