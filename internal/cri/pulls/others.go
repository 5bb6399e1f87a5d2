package pulls

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

// maxOthers bounds how many containers of containerd are read.
const maxOthers = 65536

// ImageClient has the connection on which containerd serves its own API beside the CRI's.
type ImageClient interface {
	ImageConn() grpc.ClientConnInterface
}

// OtherContainers returns the containers in containerd's namespace of the CRI that are not listed: those
// of nerdctl -n k8s.io run and ctr, and what the CRI has forgotten. Another runtime has none.
func OtherContainers(ctx context.Context, client ImageClient, listed map[string]bool) (found []*pod.Container, err error) {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io"))
	defer cancel()
	stream, err := containersapi.NewContainersClient(client.ImageConn()).ListStream(ctx, &containersapi.ListContainersRequest{})
	for n := 0; err == nil; n++ {
		var m *containersapi.ListContainerMessage
		if m, err = stream.Recv(); err != nil {
			break
		}
		if n == maxOthers {
			return nil, fmt.Errorf("containerd has more than %d containers", maxOthers)
		}
		if c := m.GetContainer(); !listed[c.GetID()] {
			found = append(found, &pod.Container{ID: c.GetID(), Name: c.GetID(), Image: c.GetImage()})
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, cri.ErrUnsupported) {
		return found, nil
	}
	return nil, fmt.Errorf("list the containers of containerd's other clients: %w", err)
}
