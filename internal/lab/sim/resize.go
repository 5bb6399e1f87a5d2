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
	c := r.container(req.ContainerId)
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

// UpdatePodSandboxResources changes the overhead and resources of a sandbox's config.
func (r *Runtime) UpdatePodSandboxResources(_ context.Context, req *runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandbox(req.PodSandboxId)
	if s == nil {
		return nil, errorf(codes.NotFound, "failed to find sandbox: not found")
	}
	config := proto.CloneOf(s.config)
	if config.Linux == nil {
		config.Linux = &runtimeapi.LinuxPodSandboxConfig{}
	}
	config.Linux.Overhead, config.Linux.Resources = req.Overhead, req.Resources
	s.config = config
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
}

// UpdateRuntimeConfig takes no notice of the pods' network, as containerd without a
// template of a CNI configuration.
func (r *Runtime) UpdateRuntimeConfig(context.Context, *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}

// CheckpointContainer fails as on a host without CRIU.
func (r *Runtime) CheckpointContainer(_ context.Context, req *runtimeapi.CheckpointContainerRequest) (*runtimeapi.CheckpointContainerResponse, error) {
	return nil, errorf(codes.Unknown, "failed to checkpoint container %q: criu binary not found in shim path or system PATH", req.ContainerId)
}
