package cri

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// toSandbox converts an entry of ListPodSandbox. The manifest is not kept:
// lists are made every second, and it is big.
func toSandbox(s *runtimeapi.PodSandbox) *pod.Sandbox {
	own := podctlAnnotations(s.Annotations)
	_, hasManifest := own[pod.ManifestAnnotation]
	return &pod.Sandbox{
		ID:               s.Id,
		Attempt:          s.GetMetadata().GetAttempt(),
		State:            sandboxState(s.State),
		CreatedAt:        toTime(s.CreatedAt),
		RuntimeHandler:   s.RuntimeHandler,
		Labels:           s.Labels,
		Owner:            own[pod.OwnerAnnotation],
		OwnerID:          own[pod.InstanceAnnotation],
		Workload:         own[pod.WorkloadAnnotation],
		Source:           s.Annotations[pod.ConfigSourceAnnotation],
		DefaultContainer: s.Annotations[pod.DefaultContainerAnnotation],
		Devices:          own[pod.DevicesAnnotation],
		HasManifest:      hasManifest,
	}
}

// podctlAnnotations returns the annotations of a sandbox that podctl created, none
// of another one's: a kubelet gives a sandbox the annotations of its pod, which users of a
// cluster choose, and the source of the pod, which they cannot. Podctl's sandboxes
// have no source (render.Sandbox).
func podctlAnnotations(a map[string]string) map[string]string {
	if a[pod.ConfigSourceAnnotation] != "" {
		return nil
	}
	return a
}

// toContainer converts an entry of ListContainers.
func toContainer(c *runtimeapi.Container) *pod.Container {
	return &pod.Container{
		ID:        c.Id,
		SandboxID: c.PodSandboxId,
		Name:      cmp.Or(c.Labels[pod.ContainerNameLabel], c.GetMetadata().GetName()),
		Attempt:   c.GetMetadata().GetAttempt(),
		State:     containerState(c.State),
		CreatedAt: toTime(c.CreatedAt),
		Image:     c.GetImage().GetImage(),
		// Runtimes of before CRI 1.30 have no image id.
		ImageID: cmp.Or(c.ImageId, c.ImageRef),
		Hash:    c.Annotations[pod.HashAnnotation],
	}
}

// toSandboxStatus converts PodSandboxStatus.
func toSandboxStatus(s *runtimeapi.PodSandboxStatus) *pod.SandboxStatus {
	ips := sandboxIPs(s.Network)
	return &pod.SandboxStatus{
		ID:             s.Id,
		Attempt:        s.GetMetadata().GetAttempt(),
		State:          sandboxState(s.State),
		CreatedAt:      toTime(s.CreatedAt),
		IPs:            ips,
		NetworkUnknown: s.Network == nil || s.Network.Ip != "" && ips == nil,
		HostNetwork:    s.GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE,
		RuntimeHandler: s.RuntimeHandler,
	}
}

// signalName returns the name of the signal in the Kubernetes API, which spells
// the CRI's SIGNAL_SIGRTMINPLUS3 as SIGRTMIN+3 (runtimeSignalToString in
// pkg/kubelet/kuberuntime/helpers.go).
func signalName(s runtimeapi.Signal) string {
	return strings.NewReplacer("SIGNAL_", "", "PLUS", "+", "MINUS", "-").Replace(s.String())
}

// stopSignal is the name of a stop signal, "" if the runtime does not say it.
func stopSignal(s runtimeapi.Signal) string {
	if s == runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT {
		return ""
	}
	return signalName(s)
}

// sandboxIPs returns the sandbox's addresses, primary first: none if one of
// them is not an address (pkg/kubelet/kuberuntime/kuberuntime_sandbox.go).
func sandboxIPs(n *runtimeapi.PodSandboxNetworkStatus) []string {
	var ips []string
	if ip := n.GetIp(); ip != "" {
		ips = append(ips, ip)
	}
	for _, ip := range n.GetAdditionalIps() {
		ips = append(ips, ip.GetIp())
	}
	for _, ip := range ips {
		if _, err := netip.ParseAddr(ip); err != nil {
			return nil
		}
	}
	return ips
}

// toContainerStatus converts ContainerStatus. What belongs to a state that the
// container has not reached is zero, whatever the runtime sent
// (pkg/kubelet/kuberuntime/kuberuntime_container.go).
func toContainerStatus(s *runtimeapi.ContainerStatus, sandboxID string) *pod.ContainerStatus {
	restarts, _ := strconv.ParseInt(s.Annotations[pod.RestartCountAnnotation], 10, 32)
	c := &pod.ContainerStatus{
		ID:           s.Id,
		SandboxID:    sandboxID,
		Name:         cmp.Or(s.Labels[pod.ContainerNameLabel], s.GetMetadata().GetName()),
		Attempt:      s.GetMetadata().GetAttempt(),
		State:        containerState(s.State),
		CreatedAt:    toTime(s.CreatedAt),
		Image:        s.GetImage().GetImage(),
		ImageID:      cmp.Or(s.ImageId, s.ImageRef),
		ImageRef:     s.ImageRef,
		Hash:         s.Annotations[pod.HashAnnotation],
		RestartCount: int32(restarts),
		LogPath:      s.LogPath,
		Annotations:  s.Annotations,
	}
	if s.State != runtimeapi.ContainerState_CONTAINER_CREATED {
		c.StartedAt = toTime(s.StartedAt)
	}
	if s.State == runtimeapi.ContainerState_CONTAINER_EXITED {
		c.FinishedAt = toTime(s.FinishedAt)
		c.ExitCode = s.ExitCode
		c.Reason = s.Reason
		c.Message = s.Message
	}
	if u := s.GetUser().GetLinux(); u != nil {
		c.User = &pod.User{UID: u.Uid, GID: u.Gid, SupplementalGroups: u.SupplementalGroups}
	}
	c.StopSignal = stopSignal(s.StopSignal)
	if l := s.GetResources().GetLinux(); l != nil {
		c.Resources = &pod.Enforced{CPUShares: l.CpuShares, CPUQuota: l.CpuQuota, CPUPeriod: l.CpuPeriod, MemoryLimit: l.MemoryLimitInBytes}
	}
	for _, m := range s.Mounts {
		c.Mounts = append(c.Mounts, pod.Mount{
			HostPath: m.HostPath, ContainerPath: m.ContainerPath, ReadOnly: m.Readonly, RecursiveReadOnly: m.RecursiveReadOnly,
			Image: m.GetImage().GetImage(),
		})
	}
	return c
}

func sandboxState(s runtimeapi.PodSandboxState) pod.State {
	if s == runtimeapi.PodSandboxState_SANDBOX_READY {
		return pod.Running
	}
	return pod.Exited
}

func containerState(s runtimeapi.ContainerState) pod.State {
	switch s {
	case runtimeapi.ContainerState_CONTAINER_CREATED:
		return pod.Created
	case runtimeapi.ContainerState_CONTAINER_RUNNING:
		return pod.Running
	case runtimeapi.ContainerState_CONTAINER_EXITED:
		return pod.Exited
	case runtimeapi.ContainerState_CONTAINER_UNKNOWN:
	}
	return pod.Unknown
}

// toTime is the time of a CRI timestamp; zero for what has not happened, which
// some runtimes send as 0 and CRI-O as Go's zero time, a negative number.
func toTime(ns int64) time.Time {
	if ns <= 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
