package cri

import (
	"context"
	"errors"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UpdateContainerResources gives a running container other resources.
func (c *Client) UpdateContainerResources(ctx context.Context, id string, r *runtimeapi.LinuxContainerResources) error {
	_, err := c.runtime.UpdateContainerResources(ctx, &runtimeapi.UpdateContainerResourcesRequest{ContainerId: id, Linux: r})
	return err
}

// UpdatePodSandboxResources tells the runtime what the sandbox as a whole has now,
// before that is enforced. A runtime that does not want to know is no error.
func (c *Client) UpdatePodSandboxResources(ctx context.Context, id string, overhead, r *runtimeapi.LinuxContainerResources) error {
	_, err := c.runtime.UpdatePodSandboxResources(ctx, &runtimeapi.UpdatePodSandboxResourcesRequest{PodSandboxId: id, Overhead: overhead, Resources: r})
	if errors.Is(err, ErrUnsupported) {
		return nil
	}
	return err
}
