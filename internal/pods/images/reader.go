package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// Runtime is the part of a CRI client that a Reader uses.
type Runtime interface {
	ListImages(ctx context.Context) ([]*pod.Image, error)
	Strays() []*pod.Pod
	Version(ctx context.Context) (cri.Version, error)
	ContainerStatus(ctx context.Context, id string) (*pod.ContainerStatus, error)
	SandboxImage(ctx context.Context) (string, error)
	imageClient
}

var _ Runtime = (*cri.Client)(nil)

// Reader reads the images of one runtime. The zero value is ready. It is not safe for
// concurrent use.
type Reader struct {
	// mounted are the images that a container mounts as volumes, by its id.
	mounted map[string][]string
}

// Read lists the images and joins them with the pods that list returns, with containers that
// are in no pod, and with those of other clients of containerd. list calls the ListPods of the
// runtime. The images are listed first: one that is pulled for a container that is created
// meanwhile is then not in the list. An error means that no image may be taken for unused; unread are the
// containers that may mount any of them.
func (r *Reader) Read(ctx context.Context, runtime Runtime, list func(context.Context) ([]*pod.Pod, error)) (all []*Image, unread []Unread, err error) {
	held, err := runtime.ListImages(ctx)
	if err != nil {
		return nil, nil, err
	}
	sandboxes, err := runtime.SandboxImage(ctx)
	if err != nil {
		return nil, nil, err
	}
	pods, err := list(ctx)
	if err != nil {
		return nil, nil, err
	}
	pods = slices.Concat(pods, runtime.Strays())
	others, err := outside(ctx, runtime, pods)
	if err != nil {
		return nil, nil, err
	}
	if unread, err = r.readMounts(ctx, runtime, pods); err != nil {
		return nil, nil, err
	}
	all = Join(held, append(pods, others), r.mounted)
	for _, i := range all {
		i.Pinned = i.Pinned || sandboxes != "" && i.HasName(sandboxes)
	}
	return all, unread, nil
}

// maxOthers bounds how many containers of containerd are read.
const maxOthers = 65536

// imageClient has the connection on which containerd serves its own API beside the CRI's.
type imageClient interface {
	ImageConn() grpc.ClientConnInterface
}

// outside returns, as of one pod, the containers in containerd's namespace of the CRI that are not listed:
// those of nerdctl -n k8s.io run and ctr, and what the CRI has forgotten. Another runtime has none.
func outside(ctx context.Context, client imageClient, pods []*pod.Pod) (*pod.Pod, error) {
	listed := map[string]bool{}
	for _, p := range pods {
		for id := range p.IDs() {
			listed[id] = true
		}
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io"))
	defer cancel()
	others := &pod.Pod{}
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
			others.Containers = append(others.Containers, &pod.Container{ID: c.GetID(), Name: c.GetID(), Image: c.GetImage()})
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, cri.ErrUnsupported) {
		return others, nil
	}
	return nil, fmt.Errorf("list the containers of containerd's other clients: %w", err)
}

// readMounts asks for the mounts of the containers that are new, if the runtime can
// mount images, and forgets those of containers that are gone.
func (r *Reader) readMounts(ctx context.Context, runtime Runtime, pods []*pod.Pod) (unread []Unread, err error) {
	version, err := runtime.Version(ctx)
	if err != nil || !version.ImageVolumes() {
		return nil, err
	}
	mounted := map[string][]string{}
	var asked []Unread
	for _, p := range pods {
		for _, c := range p.Containers {
			if images, known := r.mounted[c.ID]; known {
				mounted[c.ID] = images
				continue
			}
			asked = append(asked, Unread{Use: useOf(p, c), UID: p.UID})
		}
	}
	statuses := make([]*pod.ContainerStatus, len(asked))
	errs := cri.ReadEach(ctx, len(asked), func(ctx context.Context, i int) (err error) {
		statuses[i], err = runtime.ContainerStatus(ctx, asked[i].ID)
		return err
	})
	for i, u := range asked {
		switch u.Err = errs[i]; {
		case u.Err == nil:
			mounted[u.ID] = imagesOf(statuses[i].Mounts)
		case !errors.Is(u.Err, cri.ErrNotFound):
			unread = append(unread, u)
		}
	}
	r.mounted = mounted
	return unread, ctx.Err()
}

func imagesOf(mounts []pod.Mount) []string {
	var images []string
	for _, m := range mounts {
		if m.Image != "" {
			images = append(images, m.Image)
		}
	}
	return images
}
