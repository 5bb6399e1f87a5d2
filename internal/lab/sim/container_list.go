package sim

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerStatus answers one container's status.
func (r *Runtime) ContainerStatus(_ context.Context, req *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.container(req.ContainerId)
	if c == nil {
		return nil, errorf(codes.NotFound, "an error occurred when try to find container %q: not found", req.ContainerId)
	}
	resp := &runtimeapi.ContainerStatusResponse{Status: c.status()}
	if req.Verbose { // without a pid, which would be that of another process
		info, err := json.Marshal(map[string]any{"sandboxID": c.sandbox.id, "config": c.config})
		if err != nil {
			return nil, err
		}
		resp.Info = map[string]string{"info": string(info)}
	}
	return resp, nil
}

func (c *container) status() *runtimeapi.ContainerStatus {
	s := &runtimeapi.ContainerStatus{
		Id: c.id, Metadata: c.config.GetMetadata(), State: c.state, CreatedAt: c.createdAt,
		StartedAt: c.startedAt, FinishedAt: c.finishedAt, ExitCode: c.exitCode,
		Image: &runtimeapi.ImageSpec{Image: c.image.ref}, ImageRef: c.image.digest(), ImageId: c.image.id,
		Reason: c.reason, Message: c.message,
		Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(), Mounts: c.config.GetMounts(),
		LogPath:    c.logPath,
		StopSignal: c.stopSignal(),
		User:       c.user(),
	}
	if s.Reason == "" && c.state == runtimeapi.ContainerState_CONTAINER_EXITED {
		s.Reason = "Completed"
		if c.exitCode != 0 {
			s.Reason = "Error"
		}
	}
	return s
}

func (c *container) user() *runtimeapi.ContainerUser {
	sc := c.config.GetLinux().GetSecurityContext()
	u := &runtimeapi.LinuxContainerUser{Gid: sc.GetRunAsGroup().GetValue(), SupplementalGroups: sc.GetSupplementalGroups()}
	switch {
	case sc.GetRunAsUser() != nil:
		u.Uid = sc.GetRunAsUser().GetValue()
	case sc.GetRunAsUsername() != "":
		u.Uid = users[sc.GetRunAsUsername()]
	case c.image.UID != nil:
		u.Uid = *c.image.UID
	}
	if i := c.image; i.UID != nil && u.Uid == *i.UID && i.GID != 0 {
		if sc.GetRunAsGroup() == nil {
			u.Gid = i.GID
		}
		u.SupplementalGroups = append([]int64{u.Gid}, u.SupplementalGroups...)
		if sc.GetSupplementalGroupsPolicy() != runtimeapi.SupplementalGroupsPolicy_Strict {
			u.SupplementalGroups = append(u.SupplementalGroups, i.Groups...)
		}
	}
	return &runtimeapi.ContainerUser{Linux: u}
}

// ListContainers lists the containers that pass the filter, by id.
func (r *Runtime) ListContainers(_ context.Context, req *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := req.GetFilter()
	resp := &runtimeapi.ListContainersResponse{}
	for _, c := range r.containers {
		if !strings.HasPrefix(c.id, f.GetId()) || f.GetState() != nil && f.GetState().State != c.state ||
			!strings.HasPrefix(c.sandbox.id, f.GetPodSandboxId()) ||
			!selects(f.GetLabelSelector(), c.config.GetLabels()) {
			continue
		}
		resp.Containers = append(resp.Containers, &runtimeapi.Container{
			Id: c.id, PodSandboxId: c.sandbox.id, Metadata: c.config.GetMetadata(), Image: c.config.GetImage(),
			ImageRef: c.image.id, ImageId: c.image.id, State: c.state, CreatedAt: c.createdAt,
			Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
		})
	}
	slices.SortFunc(resp.Containers, func(a, b *runtimeapi.Container) int { return strings.Compare(a.Id, b.Id) })
	return resp, nil
}

// containersIn returns a sandbox's containers, oldest first.
func (r *Runtime) containersIn(s *sandbox) []*container {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inSandbox(s)
}

func (r *Runtime) inSandbox(s *sandbox) []*container {
	var cs []*container
	for _, c := range r.containers {
		if c.sandbox == s {
			cs = append(cs, c)
		}
	}
	slices.SortFunc(cs, func(a, b *container) int { return int(a.createdAt - b.createdAt) })
	return cs
}

// statusesIn is inSandbox as an event carries it. r.mu is held.
func (r *Runtime) statusesIn(s *sandbox) []*runtimeapi.ContainerStatus {
	var statuses []*runtimeapi.ContainerStatus
	for _, c := range r.inSandbox(s) {
		statuses = append(statuses, c.status())
	}
	return statuses
}

// streamChunkSize is the number of entries in each message of a streamed list.
const streamChunkSize = 8

// stream sends the entries of a list in messages of streamChunkSize.
func stream[T, M any](all []T, to grpc.ServerStreamingServer[M], message func([]T) *M) error {
	for some := range slices.Chunk(all, streamChunkSize) {
		if err := to.Send(message(some)); err != nil {
			return err
		}
	}
	return nil
}

// StreamPodSandboxes streams the sandboxes that pass the filter.
func (r *Runtime) StreamPodSandboxes(req *runtimeapi.StreamPodSandboxesRequest, to grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxesResponse]) error {
	all, err := r.ListPodSandbox(to.Context(), &runtimeapi.ListPodSandboxRequest{Filter: req.GetFilter()})
	if err != nil {
		return err
	}
	return stream(all.Items, to, func(some []*runtimeapi.PodSandbox) *runtimeapi.StreamPodSandboxesResponse {
		return &runtimeapi.StreamPodSandboxesResponse{PodSandboxes: some}
	})
}

// StreamContainers streams the containers that pass the filter.
func (r *Runtime) StreamContainers(req *runtimeapi.StreamContainersRequest, to grpc.ServerStreamingServer[runtimeapi.StreamContainersResponse]) error {
	all, err := r.ListContainers(to.Context(), &runtimeapi.ListContainersRequest{Filter: req.GetFilter()})
	if err != nil {
		return err
	}
	return stream(all.Containers, to, func(some []*runtimeapi.Container) *runtimeapi.StreamContainersResponse {
		return &runtimeapi.StreamContainersResponse{Containers: some}
	})
}

// StreamContainerStats streams what ListContainerStats answers.
func (r *Runtime) StreamContainerStats(req *runtimeapi.StreamContainerStatsRequest, to grpc.ServerStreamingServer[runtimeapi.StreamContainerStatsResponse]) error {
	all, err := r.ListContainerStats(to.Context(), &runtimeapi.ListContainerStatsRequest{Filter: req.GetFilter()})
	if err != nil {
		return err
	}
	return stream(all.Stats, to, func(some []*runtimeapi.ContainerStats) *runtimeapi.StreamContainerStatsResponse {
		return &runtimeapi.StreamContainerStatsResponse{ContainerStats: some}
	})
}

// StreamPodSandboxStats streams what ListPodSandboxStats answers.
func (r *Runtime) StreamPodSandboxStats(req *runtimeapi.StreamPodSandboxStatsRequest, to grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxStatsResponse]) error {
	all, err := r.ListPodSandboxStats(to.Context(), &runtimeapi.ListPodSandboxStatsRequest{Filter: req.GetFilter()})
	if err != nil {
		return err
	}
	return stream(all.Stats, to, func(some []*runtimeapi.PodSandboxStats) *runtimeapi.StreamPodSandboxStatsResponse {
		return &runtimeapi.StreamPodSandboxStatsResponse{PodSandboxStats: some}
	})
}

// StreamPodSandboxMetrics streams what ListPodSandboxMetrics answers.
func (r *Runtime) StreamPodSandboxMetrics(_ *runtimeapi.StreamPodSandboxMetricsRequest, to grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxMetricsResponse]) error {
	all, err := r.ListPodSandboxMetrics(to.Context(), nil)
	if err != nil {
		return err
	}
	return stream(all.PodMetrics, to, func(some []*runtimeapi.PodSandboxMetrics) *runtimeapi.StreamPodSandboxMetricsResponse {
		return &runtimeapi.StreamPodSandboxMetricsResponse{PodSandboxMetrics: some}
	})
}

// StreamImages streams what ListImages answers.
func (r *Runtime) StreamImages(req *runtimeapi.StreamImagesRequest, to grpc.ServerStreamingServer[runtimeapi.StreamImagesResponse]) error {
	all, err := r.ListImages(to.Context(), &runtimeapi.ListImagesRequest{Filter: req.GetFilter()})
	if err != nil {
		return err
	}
	return stream(all.Images, to, func(some []*runtimeapi.Image) *runtimeapi.StreamImagesResponse {
		return &runtimeapi.StreamImagesResponse{Images: some}
	})
}
