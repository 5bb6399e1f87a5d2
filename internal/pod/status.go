package pod

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Status is what the runtime's status calls say about one pod: the
// counterpart of kubecontainer.PodStatus. The zero value, with a UID, is the
// status of a pod of which the runtime holds nothing.
type Status struct {
	UID       types.UID
	Name      string
	Namespace string
	// IPs are the pod's addresses, primary first; of a pod whose sandboxes
	// are all dead, the last known ones. Empty for host-network pods.
	IPs []string
	// Sandboxes and Containers are sorted newest first.
	Sandboxes  []*SandboxStatus
	Containers []*ContainerStatus
	// At is the time at or before which everything in this status was true:
	// the time before the first call that it was made from.
	At time.Time
}

// SandboxStatus is the part of PodSandboxStatus that podctl uses.
type SandboxStatus struct {
	ID        string
	Attempt   uint32
	State     State
	CreatedAt time.Time
	IPs       []string
	// NetworkUnknown: the runtime gives no network information, or an address
	// that cannot be read: that there are no IPs means nothing.
	NetworkUnknown bool
	HostNetwork    bool
	RuntimeHandler string
}

// ContainerStatus is the part of the CRI's ContainerStatus that podctl uses.
type ContainerStatus struct {
	ID        string
	SandboxID string // "" where the runtime does not say
	Name      string
	Attempt   uint32
	State     State
	CreatedAt time.Time
	// StartedAt and FinishedAt are zero where it has not happened.
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int32
	// Image is the image as asked for, ImageID the runtime's id, ImageRef the
	// digested reference.
	Image    string
	ImageID  string
	ImageRef string
	Hash     string
	// RestartCount is read from RestartCountAnnotation.
	RestartCount int32
	// Reason and Message are the runtime's; Message is replaced by the
	// termination message where the container left one.
	Reason  string
	Message string
	LogPath string
	// Annotations are those of the container: enough to end it without its
	// manifest (grace, hooks, termination message path).
	Annotations map[string]string
	// User is the identity of the container's first process, nil where the
	// runtime does not say.
	User *User
	// StopSignal is the effective stop signal ("SIGTERM"), "" where the
	// runtime does not say.
	StopSignal string
	Mounts     []Mount
	// Resources are what the runtime enforces on it, nil where the runtime does not
	// say.
	Resources *Enforced
}

// Enforced are CPU time and memory as the runtime has set them; 0 is not set.
type Enforced struct {
	CPUShares, CPUQuota, CPUPeriod int64
	MemoryLimit                    int64
}

// User is the numeric identity of a container's first process.
type User struct {
	UID, GID           int64
	SupplementalGroups []int64
}

// Mount is one mount of a container as the runtime reports it.
type Mount struct {
	HostPath, ContainerPath string
	ReadOnly                bool
	// RecursiveReadOnly: what is mounted below it is read-only, too.
	RecursiveReadOnly bool
	// Image is the image that is mounted, as the runtime was asked for it; ""
	// for a directory or file of the host.
	Image string
}

// Container returns the newest status of the container of that name, nil if
// the runtime has none.
func (s *Status) Container(name string) *ContainerStatus {
	for _, c := range s.Containers {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// ActiveContainer returns the newest attempt of the container in the newest sandbox, nil
// if there is none or that sandbox is not ready. If the runtime does not report the sandbox of
// a container, creation times are compared (FindActiveContainerStatusByName in
// pkg/kubelet/container/runtime.go).
func (s *Status) ActiveContainer(name string) *ContainerStatus {
	if len(s.Sandboxes) == 0 || s.Sandboxes[0].State != Running {
		return nil
	}
	sandbox := s.Sandboxes[0]
	for _, c := range s.Containers {
		if c.Name == name && (c.SandboxID == sandbox.ID || c.SandboxID == "" && !c.CreatedAt.Before(sandbox.CreatedAt)) {
			return c
		}
	}
	return nil
}

// ContainerByID returns the container of that id, nil if there is none.
func (s *Status) ContainerByID(id string) *ContainerStatus {
	for _, c := range s.Containers {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// AnyRunning reports whether any container of the pod runs.
func (s *Status) AnyRunning() bool {
	for _, c := range s.Containers {
		if c.State == Running {
			return true
		}
	}
	return false
}

// Notice is one event of the runtime's event stream, reduced to what podctl
// believes of it: that something happened to this container or sandbox. Where a
// listing already shows State or something later, there is nothing to look for.
type Notice struct {
	// ID is the container's or sandbox's id.
	ID string
	// PodUID is the pod's UID where the event carried it, else "".
	PodUID types.UID
	// Created is the time the runtime stamped on the event.
	Created time.Time
	// Deleted reports whether the container or sandbox is gone from the runtime,
	// so that no listing can map ID to a pod any more.
	Deleted bool
	// State is what the container or sandbox has come to, Unknown where the event
	// does not say.
	State State
}

// IsTerminal reports whether a pod in this phase has finished and never runs
// again: Succeeded or Failed. The zero value is not terminal
// (IsPodPhaseTerminal in pkg/api/v1/pod/util.go).
func IsTerminal(phase v1.PodPhase) bool {
	return phase == v1.PodSucceeded || phase == v1.PodFailed
}

// NotStarted returns the statuses of containers that wait for another reason than
// that they have not been created yet.
func NotStarted(s *v1.PodStatus) []v1.ContainerStatus {
	return slices.DeleteFunc(Statuses(s), func(c v1.ContainerStatus) bool {
		w := c.State.Waiting
		return w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing"
	})
}

// ReadinessGatesNotReady is the reason of the condition Ready of a pod whose containers are
// ready, and that is not, because of its readiness gates (pkg/kubelet/status/generate.go).
const ReadinessGatesNotReady = "ReadinessGatesNotReady"

// UnmetGates returns which readiness gates keep a pod with ready containers from being
// ready, "" if none does.
func UnmetGates(s *v1.PodStatus) string {
	for _, c := range s.Conditions {
		if c.Type == v1.PodReady && c.Status == v1.ConditionFalse && c.Reason == ReadinessGatesNotReady {
			return c.Message
		}
	}
	return ""
}

// Statuses returns the statuses of a pod's containers, init containers first.
func Statuses(s *v1.PodStatus) []v1.ContainerStatus {
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
}

// OrderIPs returns the addresses by which a pod is known, of those that its
// runtime found: the first of the family of the node's primary address, then
// the first of the other family. Without a node address IPv4 comes first
// (sortPodIPs in pkg/kubelet/kubelet_pods.go).
func OrderIPs(found, node []string) []string {
	var four, six []string
	for _, s := range found {
		ip, err := netip.ParseAddr(s)
		switch {
		case err != nil:
		case ip.Unmap().Is4() && four == nil:
			four = []string{ip.Unmap().String()}
		case ip.Is6() && !ip.Is4In6() && six == nil:
			six = []string{ip.String()}
		}
	}
	if len(node) > 0 {
		if ip, err := netip.ParseAddr(node[0]); err == nil && !ip.Unmap().Is4() {
			return slices.Concat(six, four)
		}
	}
	return slices.Concat(four, six)
}

// OwnsCondition reports whether nobody else sets conditions of that type: those of the node
// (pkg/kubelet/types/pod_status.go), and that of a disruption.
func OwnsCondition(t v1.PodConditionType) bool {
	switch t {
	case v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
		v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting, v1.DisruptionTarget:
		return true
	}
	return false
}

// CheckCondition returns what is wrong with a condition that others set, nil if nothing is.
func CheckCondition(c v1.PodCondition) error {
	if errs := validation.IsQualifiedName(string(c.Type)); len(errs) > 0 {
		return fmt.Errorf("condition %q: %s", c.Type, strings.Join(errs, "; "))
	}
	if OwnsCondition(c.Type) {
		return fmt.Errorf("condition %s: podctl sets it itself", c.Type)
	}
	switch c.Status {
	case v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown:
		return nil
	}
	return fmt.Errorf("condition %s: status %q is not True, False or Unknown", c.Type, c.Status)
}

// ProbeResult is what counts of one probe of one container. The zero value
// means that the probe has come to no result.
type ProbeResult uint8

const (
	// ProbeUnknown: the probe has come to no result.
	ProbeUnknown ProbeResult = iota
	// ProbeSuccess: the success threshold was reached last.
	ProbeSuccess
	// ProbeFailure: the failure threshold was reached last.
	ProbeFailure
)

func (r ProbeResult) String() string {
	return [...]string{ProbeUnknown: "Unknown", ProbeSuccess: "Success", ProbeFailure: "Failure"}[r]
}

// ProbeResults are the results of a pod's probes, by container id: a restarted
// container starts with no result. The zero value is a pod whose probes have
// not run (pkg/kubelet/prober/results/results_manager.go).
type ProbeResults struct {
	Startup, Liveness, Readiness map[string]ProbeResult
}

// restartSlack is how long before podctl started a container must have started to count as one that an earlier
// podctl started (kubeletRestartGracePeriod in pkg/kubelet/prober).
const restartSlack = 10 * time.Second

// RanBefore reports whether a container that started at a time, zero if it is not known, ran well before podctl
// began.
func RanBefore(started, begun time.Time) bool {
	return !started.IsZero() && started.Before(begun.Add(-restartSlack))
}
