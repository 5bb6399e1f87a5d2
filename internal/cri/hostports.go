package cri

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// HostPorts returns the host ports that were asked for with a sandbox, as far as the
// runtime shows them: containerd and CRI-O do in the verbose part of a status.
func (c *Client) HostPorts(ctx context.Context, sandboxID string) ([]v1.ContainerPort, error) {
	r, err := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandboxID, Verbose: true})
	if err != nil {
		return nil, err
	}
	text := r.GetInfo()["info"]
	if text == "" {
		return nil, nil
	}
	ports, err := hostPortsIn([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read host ports of sandbox %s: %w", pod.ShortID(sandboxID), err)
	}
	return ports, nil
}

// crioPorts is the annotation in which CRI-O keeps a sandbox's port mappings.
const crioPorts = "io.kubernetes.cri-o.PortMappings"

// hostPortsIn reads them from what containerd or CRI-O shows of a sandbox.
func hostPortsIn(info []byte) ([]v1.ContainerPort, error) {
	var shown struct {
		Config struct {
			Ports []struct {
				Protocol      runtimeapi.Protocol `json:"protocol"`
				ContainerPort int32               `json:"container_port"`
				HostPort      int32               `json:"host_port"`
				HostIP        string              `json:"host_ip"`
			} `json:"port_mappings"`
		} `json:"config"`
		Spec struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"runtimeSpec"`
	}
	if err := json.Unmarshal(info, &shown); err != nil {
		return nil, err
	}
	var ports []v1.ContainerPort
	for _, p := range shown.Config.Ports {
		ports = append(ports, v1.ContainerPort{Protocol: v1.Protocol(p.Protocol.String()), ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: p.HostIP})
	}
	text := shown.Spec.Annotations[crioPorts]
	if text == "" {
		return ports, nil
	}
	var crio []v1.ContainerPort // its names differ in case only
	if err := json.Unmarshal([]byte(text), &crio); err != nil {
		return nil, err
	}
	return append(ports, crio...), nil
}
