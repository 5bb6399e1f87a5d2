package cri

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

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
