package images

import (
	"context"
	"net"
	"slices"
	"testing"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/podctl/podctl/internal/pod"
)

// containerd is what a containerd has beside its CRI, by namespace: images by id of the container.
type containerd struct {
	containersapi.UnimplementedContainersServer
	images map[string]map[string]string
}

func (c containerd) ListStream(_ *containersapi.ListContainersRequest, s containersapi.Containers_ListStreamServer) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	for id, image := range c.images[md.Get("containerd-namespace")[0]] {
		if err := s.Send(&containersapi.ListContainerMessage{Container: &containersapi.Container{ID: id, Image: image}}); err != nil {
			return err
		}
	}
	return nil
}

// connected is an imageClient.
type connected struct{ conn *grpc.ClientConn }

func (c connected) ImageConn() grpc.ClientConnInterface { return c.conn }

// The image of a container that nerdctl runs beside the CRI is in use.
func TestContainersOfOtherClientsUseImages(t *testing.T) {
	l := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	containersapi.RegisterContainersServer(server, containerd{images: map[string]map[string]string{
		"k8s.io": {"c1": "docker.io/library/busybox:1", "by-hand": "r.io:5000/team/app:2"}, "moby": {"other": "r.io/none@sha256:" + digits},
	}})
	go func() { _ = server.Serve(l) }() // it ends with the test
	defer server.Stop()
	conn, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return l.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	pods := []*pod.Pod{{Namespace: "default", Name: "web", Containers: []*pod.Container{{ID: "c1", Name: "app", ImageID: busybox.ID}}}}
	others, err := outside(t.Context(), connected{conn}, pods)
	if err != nil {
		t.Fatal(err)
	}
	all := Join(held(), append(pods, others), nil)
	got := uses(all)
	if !slices.Equal(got["r.io:5000/team/app:2"], []string{"container by-hand"}) || !slices.Equal(got["docker.io/library/busybox:1"], []string{"default/web/app"}) || len(got) != 2 {
		t.Errorf("%v", got)
	}
}
