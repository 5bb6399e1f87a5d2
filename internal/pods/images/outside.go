package images

import (
	"context"
	"errors"
	"fmt"
	"io"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// maxOutside bounds how many containers of containerd are read.
const maxOutside = 65536

// outside returns the containers that containerd has in the CRI's namespace and the CRI does not list:
// nerdctl -n k8s.io run, ctr, or what the CRI has forgotten. Another runtime has no such service.
func outside(ctx context.Context, conn grpc.ClientConnInterface, pods []*pod.Pod) (*pod.Pod, error) {
	listed := map[string]bool{}
	for _, p := range pods {
		for id := range p.IDs() {
			listed[id] = true
		}
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io"))
	defer cancel()
	found := &pod.Pod{}
	stream, err := containersapi.NewContainersClient(conn).ListStream(ctx, &containersapi.ListContainersRequest{})
	for n := 0; err == nil; n++ {
		var m *containersapi.ListContainerMessage
		if m, err = stream.Recv(); err != nil {
			break
		}
		if n == maxOutside {
			return nil, fmt.Errorf("containerd has more than %d containers", maxOutside)
		}
		if c := m.GetContainer(); !listed[c.GetID()] {
			found.Containers = append(found.Containers, &pod.Container{ID: c.GetID(), Name: c.GetID(), Image: c.GetImage()})
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, cri.ErrUnsupported) {
		return found, nil
	}
	return nil, fmt.Errorf("list the containers of containerd's other clients: %w", err)
}
