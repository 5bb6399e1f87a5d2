package render

import (
	"errors"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/util/sysctl"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/podctl/podctl/internal/pod"
)

// SandboxInput is what Sandbox needs besides the pod.
type SandboxInput struct {
	Node *Node
	// Attempt counts the pod's sandboxes from 0.
	Attempt uint32
	// CgroupParent is the pod's cgroup, "" where the runtime may choose.
	CgroupParent string
	// Annotations are podctl's own, added to the pod's.
	Annotations map[string]string
	// UserNamespace is the pod's range of ids. It must be set for a pod with
	// hostUsers false, and is not looked at for any other.
	UserNamespace *runtimeapi.UserNamespace
}

// Sandbox returns the config of the pod's sandbox. An error is an *Error with
// ReasonSandbox (generatePodSandboxConfig in
// pkg/kubelet/kuberuntime/kuberuntime_sandbox.go).
func Sandbox(p *v1.Pod, in SandboxInput) (*runtimeapi.PodSandboxConfig, error) {
	cfg, err := sandbox(p, in)
	if err != nil {
		return nil, &Error{reason: ReasonSandbox, object: "sandbox", err: err}
	}
	return cfg, nil
}

func sandbox(p *v1.Pod, in SandboxInput) (*runtimeapi.PodSandboxConfig, error) {
	hostname, err := sandboxHostname(p, in.Node)
	if err != nil {
		return nil, err
	}
	security, err := sandboxSecurity(p, in)
	if err != nil {
		return nil, err
	}
	dns, _ := PodDNS(p, in.Node)
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name:      p.Name,
			Namespace: p.Namespace,
			Uid:       string(p.UID),
			Attempt:   in.Attempt,
		},
		Hostname:     hostname,
		LogDirectory: in.Node.LogDirectory(p),
		DnsConfig:    dns,
		PortMappings: portMappings(p),
		Labels:       podLabels(p),
		Annotations:  sandboxAnnotations(p, in.Annotations),
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent:    in.CgroupParent,
			SecurityContext: security,
			Sysctls:         sysctls(p),
			Overhead:        OverheadResources(p, in.Node),
			Resources:       sandboxResources(p, in.Node),
		},
	}, nil
}

// sandboxSecurity returns the sandbox's own security context: always confined by
// the runtime's seccomp profile, whatever the containers ask for.
func sandboxSecurity(p *v1.Pod, in SandboxInput) (*runtimeapi.LinuxSandboxSecurityContext, error) {
	namespaces, err := namespaceOptions(p, in.UserNamespace)
	if err != nil {
		return nil, err
	}
	sc := podSecurityContext(p)
	groups, policy, err := supplementalGroups(sc)
	if err != nil {
		return nil, err
	}
	return &runtimeapi.LinuxSandboxSecurityContext{
		NamespaceOptions:         namespaces,
		SelinuxOptions:           selinuxOption(sc.SELinuxOptions),
		RunAsUser:                int64Value(sc.RunAsUser),
		RunAsGroup:               int64Value(sc.RunAsGroup),
		SupplementalGroups:       groups,
		SupplementalGroupsPolicy: policy,
		Privileged:               anyPrivileged(p),
		Seccomp:                  &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
	}, nil
}

// sysctls returns the pod's, whose names may have slashes, with dots
// (ConvertPodSysctlsVariableToDotsSeparator in pkg/kubelet/sysctl/util.go).
func sysctls(p *v1.Pod) map[string]string {
	set := map[string]string{}
	for _, s := range podSecurityContext(p).Sysctls {
		set[sysctl.NormalizeName(s.Name)] = s.Value
	}
	return set
}

// podLabels returns the pod's labels and, over them, the three by which the
// kubelet finds a pod again.
func podLabels(p *v1.Pod) map[string]string {
	return mergeMaps(p.Labels, identity(p))
}

func identity(p *v1.Pod) map[string]string {
	return map[string]string{
		pod.NameLabel:      p.Name,
		pod.NamespaceLabel: p.Namespace,
		pod.UIDLabel:       string(p.UID),
	}
}

// mergeMaps returns a new map with the entries of all; the last wins.
func mergeMaps(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// namespaceOptions says which namespaces are the node's, the pod's, or each
// container's own. Only processes may be per container: they are, unless the
// pod shares them (pkg/kubelet/kuberuntime/util/util.go).
func namespaceOptions(p *v1.Pod, users *runtimeapi.UserNamespace) (*runtimeapi.NamespaceOption, error) {
	options := &runtimeapi.NamespaceOption{
		Network: nodeOrPod(p.Spec.HostNetwork),
		Ipc:     nodeOrPod(p.Spec.HostIPC),
		Pid:     runtimeapi.NamespaceMode_CONTAINER,
	}
	switch {
	case p.Spec.HostPID:
		options.Pid = runtimeapi.NamespaceMode_NODE
	case ptr.Deref(p.Spec.ShareProcessNamespace, false):
		options.Pid = runtimeapi.NamespaceMode_POD
	}
	if !pod.HasUserNamespace(p) {
		options.UsernsOptions = &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE}
		return options, nil
	}
	if users == nil {
		return nil, errors.New("hostUsers is false and the pod has no user namespace")
	}
	options.UsernsOptions = users
	return options, nil
}

func nodeOrPod(node bool) runtimeapi.NamespaceMode {
	if node {
		return runtimeapi.NamespaceMode_NODE
	}
	return runtimeapi.NamespaceMode_POD
}

// portMappings returns those of the containers; init containers have none, not
// even sidecars. A port that repeats a name, or an unnamed one that repeats
// everything, is left out (MakePortMappings in pkg/kubelet/container/helpers.go).
func portMappings(p *v1.Pod) []*runtimeapi.PortMapping {
	var mappings []*runtimeapi.PortMapping
	for i := range p.Spec.Containers {
		seen := map[string]bool{}
		for _, port := range p.Spec.Containers[i].Ports {
			name := port.Name
			if name == "" {
				name = fmt.Sprintf("%s-%s:%d:%d", port.Protocol, port.HostIP, port.ContainerPort, port.HostPort)
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			mappings = append(mappings, &runtimeapi.PortMapping{
				Protocol:      protocol(port.Protocol),
				ContainerPort: port.ContainerPort,
				HostPort:      port.HostPort,
				HostIp:        port.HostIP,
			})
		}
	}
	return mappings
}

func protocol(p v1.Protocol) runtimeapi.Protocol {
	switch p {
	case v1.ProtocolUDP:
		return runtimeapi.Protocol_UDP
	case v1.ProtocolSCTP:
		return runtimeapi.Protocol_SCTP
	default:
		return runtimeapi.Protocol_TCP
	}
}
