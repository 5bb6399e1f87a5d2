package sim

import (
	"slices"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// streamChunkSize is the number of entries in each message of a streamed list.
const streamChunkSize = 8

// StreamPodSandboxes streams the sandboxes that pass the filter.
func (r *Runtime) StreamPodSandboxes(req *runtimeapi.StreamPodSandboxesRequest, to grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxesResponse]) error {
	all, err := r.ListPodSandbox(to.Context(), &runtimeapi.ListPodSandboxRequest{Filter: req.GetFilter()})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(all.Items, streamChunkSize) {
		if err := to.Send(&runtimeapi.StreamPodSandboxesResponse{PodSandboxes: some}); err != nil {
			return err
		}
	}
	return nil
}

// StreamContainers streams the containers that pass the filter.
func (r *Runtime) StreamContainers(req *runtimeapi.StreamContainersRequest, to grpc.ServerStreamingServer[runtimeapi.StreamContainersResponse]) error {
	all, err := r.ListContainers(to.Context(), &runtimeapi.ListContainersRequest{Filter: req.GetFilter()})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(all.Containers, streamChunkSize) {
		if err := to.Send(&runtimeapi.StreamContainersResponse{Containers: some}); err != nil {
			return err
		}
	}
	return nil
}
