package cri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

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
