package sim

import (
	"slices"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

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
