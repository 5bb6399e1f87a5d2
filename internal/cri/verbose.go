package cri

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// verboseInfo is what containerd and CRI-O put into the verbose part of the status of a
// container or sandbox, as far as podctl reads it. A zero field is not reported.
type verboseInfo struct {
	PID         int    `json:"pid"`
	Snapshot    string `json:"snapshotKey"` // containerd's
	Snapshotter string `json:"snapshotter"` // containerd's
	// NetNSClosed: the network of a sandbox has been torn down, containerd's.
	NetNSClosed *bool `json:"netNamespaceClosed"`
	// Config is the CRI config with which it was created, containerd's.
	Config json.RawMessage `json:"config"`
	// Spec is the OCI runtime's configuration.
	Spec struct {
		Annotations map[string]string `json:"annotations"`
		Process     struct {
			SELinuxLabel string `json:"selinuxLabel"`
		} `json:"process"`
		Linux struct {
			Namespaces []struct {
				Type string `json:"type"`
				Path string `json:"path"`
			} `json:"namespaces"`
			Resources struct {
				Memory struct {
					Limit int64 `json:"limit"`
				} `json:"memory"`
			} `json:"resources"`
		} `json:"linux"`
	} `json:"runtimeSpec"`
}

// readVerbose reads the verbose part of a status; that of a runtime without one is zero.
// what is what an error names.
func readVerbose(info map[string]string, what string) (v verboseInfo, err error) {
	text := info["info"]
	if text == "" {
		return v, nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return verboseInfo{}, fmt.Errorf("read verbose status of %s: %w", what, err)
	}
	return v, nil
}

// verboseContainer asks for the status of a container and reads its verbose part. If only
// that cannot be read, the response comes with the error.
func (c *Client) verboseContainer(ctx context.Context, id string) (*runtimeapi.ContainerStatusResponse, verboseInfo, error) {
	r, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		return nil, verboseInfo{}, err
	}
	v, err := readVerbose(r.GetInfo(), "container "+pod.ShortID(id))
	return r, v, err
}

// verboseSandbox is verboseContainer for a sandbox.
func (c *Client) verboseSandbox(ctx context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, verboseInfo, error) {
	r, err := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err != nil {
		return nil, verboseInfo{}, err
	}
	v, err := readVerbose(r.GetInfo(), "sandbox "+pod.ShortID(id))
	return r, v, err
}

// crio is the value of an annotation that CRI-O gives its containers and sandboxes.
func (v verboseInfo) crio(name string) string {
	return v.Spec.Annotations["io.kubernetes.cri-o."+name]
}

// sandboxConfig is the config of a sandbox, nil if it is not reported.
func (v verboseInfo) sandboxConfig() (config *runtimeapi.PodSandboxConfig, err error) {
	return config, v.readConfig(&config)
}

func (v verboseInfo) readConfig(config any) error {
	if len(v.Config) == 0 {
		return nil
	}
	if err := json.Unmarshal(v.Config, config); err != nil {
		return fmt.Errorf("read config in the verbose status: %w", err)
	}
	return nil
}

// SandboxImage returns the image of sandboxes, "" where the runtime does not name it
// (containerd since 2.0, which marks it as pinned).
func (c *Client) SandboxImage(ctx context.Context) (string, error) {
	config, err := c.RuntimeConfig(ctx)
	return config.SandboxImage, err
}

// SandboxConfig is the config with which a sandbox was created, for another container
// in it. containerd reports it whole; of another runtime it is what the status has,
// and the runtime knows the rest by itself.
func (c *Client) SandboxConfig(ctx context.Context, id string) (*runtimeapi.PodSandboxConfig, error) {
	r, v, err := c.verboseSandbox(ctx, id)
	if r != nil && r.Status == nil {
		return nil, answerError("PodSandboxStatus", pod.ShortID(id), "the runtime answered without a status")
	}
	if err != nil {
		return nil, err
	}
	if config, err := v.sandboxConfig(); err != nil || config != nil {
		return config, err
	}
	s := r.Status
	return &runtimeapi.PodSandboxConfig{
		Metadata: s.Metadata, Labels: s.Labels, Annotations: s.Annotations,
		Linux: &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
			NamespaceOptions: s.GetLinux().GetNamespaces().GetOptions(),
		}},
	}, nil
}

// HostPorts returns the host ports that were asked for with a sandbox, as far as the
// runtime shows them: containerd and CRI-O do in the verbose part of a status.
func (c *Client) HostPorts(ctx context.Context, sandboxID string) ([]v1.ContainerPort, error) {
	_, v, err := c.verboseSandbox(ctx, sandboxID)
	if err != nil {
		return nil, err
	}
	return v.hostPorts()
}

func (v verboseInfo) hostPorts() ([]v1.ContainerPort, error) {
	config, err := v.sandboxConfig()
	if err != nil {
		return nil, err
	}
	var ports []v1.ContainerPort
	for _, p := range config.GetPortMappings() {
		ports = append(ports, v1.ContainerPort{Protocol: v1.Protocol(p.Protocol.String()), ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIp})
	}
	text := v.crio("PortMappings")
	if text == "" {
		return ports, nil
	}
	var crio []v1.ContainerPort // its names differ in case only
	if err := json.Unmarshal([]byte(text), &crio); err != nil {
		return nil, fmt.Errorf("read port mappings of CRI-O: %w", err)
	}
	return append(ports, crio...), nil
}

// Details are what a runtime reports of a container or sandbox only when it is asked
// for more than its status. A zero field is not reported.
type Details struct {
	// PID of the first process in the runtime's PID namespace, 0 if none runs.
	PID int
	// NetNS is the path of the network namespace, "" for the host's or if it is not reported.
	NetNS string
	// HostNetwork: the sandbox was asked to have the host's.
	HostNetwork bool
	// Namespaces are the paths of all namespaces that have one.
	Namespaces []string
	// NetworkHeld: the network of a sandbox has not been torn down, as far as the runtime
	// says.
	NetworkHeld bool
	// MemoryLimit is in bytes, nil without one.
	MemoryLimit *uint64
	// SELinuxLabel is that of its first process.
	SELinuxLabel string
}

// ContainerDetails reads what containerd and CRI-O put into the verbose part of a
// container's status. A runtime that has none answers with the zero Details.
func (c *Client) ContainerDetails(ctx context.Context, id string) (Details, error) {
	_, v, err := c.verboseContainer(ctx, id)
	return v.details(), err
}

// SandboxDetails is ContainerDetails for a sandbox.
func (c *Client) SandboxDetails(ctx context.Context, id string) (Details, error) {
	r, v, err := c.verboseSandbox(ctx, id)
	d := v.details()
	d.HostNetwork = r.GetStatus().GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE
	return d, err
}

func (v verboseInfo) details() Details {
	d := Details{PID: v.PID, SELinuxLabel: v.Spec.Process.SELinuxLabel}
	for _, ns := range v.Spec.Linux.Namespaces {
		if ns.Path == "" {
			continue
		}
		d.Namespaces = append(d.Namespaces, ns.Path)
		if ns.Type == "network" {
			d.NetNS = ns.Path
		}
	}
	d.NetworkHeld = d.NetNS != "" && v.NetNSClosed != nil && !*v.NetNSClosed
	if limit := v.Spec.Linux.Resources.Memory.Limit; limit > 0 {
		d.MemoryLimit = new(uint64(limit))
	}
	return d
}
