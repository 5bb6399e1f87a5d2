package sim

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UpdateContainerResources changes the resources of a container's config.
func (r *Runtime) UpdateContainerResources(_ context.Context, req *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[req.ContainerId]
	if c == nil {
		return nil, errorf(codes.NotFound, "failed to find container %q: not found", req.ContainerId)
	}
	config := proto.CloneOf(c.config)
	if config.Linux == nil {
		config.Linux = &runtimeapi.LinuxContainerConfig{}
	}
	config.Linux.Resources = req.Linux
	c.config = config
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}
