package images

import (
	"context"
	"errors"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// Runtime is the part of a CRI client that a Reader uses.
type Runtime interface {
	ListImages(ctx context.Context) ([]*pod.Image, error)
	Version(ctx context.Context) (cri.Version, error)
	ContainerStatus(ctx context.Context, id string) (*pod.ContainerStatus, error)
	SandboxImage(ctx context.Context) (string, error)
}

var _ Runtime = (*cri.Client)(nil)

// Reader reads the images of one runtime. The zero value is ready. It is not safe for
// concurrent use.
type Reader struct {
	// mounted are the images that a container mounts as volumes, by its id.
	mounted map[string][]string
}

// Read lists the images and joins them with the pods that list returns. It lists the
// images first: one that is pulled for a container that is created meanwhile is then not
// in the list. An error means that no image may be taken for unused.
func (r *Reader) Read(ctx context.Context, runtime Runtime, list func(context.Context) ([]*pod.Pod, error)) ([]*Image, error) {
	held, err := runtime.ListImages(ctx)
	if err != nil {
		return nil, err
	}
	sandboxes, err := runtime.SandboxImage(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := list(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.readMounts(ctx, runtime, pods); err != nil {
		return nil, err
	}
	all := Join(held, pods, r.mounted)
	for _, i := range all {
		i.Pinned = i.Pinned || sandboxes != "" && i.HasName(sandboxes)
	}
	return all, nil
}

// readMounts asks for the mounts of the containers that are new, if the runtime can
// mount images, and forgets those of containers that are gone.
func (r *Reader) readMounts(ctx context.Context, runtime Runtime, pods []*pod.Pod) error {
	version, err := runtime.Version(ctx)
	if err != nil || !version.ImageVolumes() {
		return err
	}
	mounted := map[string][]string{}
	for _, p := range pods {
		for _, c := range p.Containers {
			images, known := r.mounted[c.ID]
			if !known {
				status, err := runtime.ContainerStatus(ctx, c.ID)
				if errors.Is(err, cri.ErrNotFound) {
					continue
				}
				if err != nil {
					return err
				}
				images = imagesOf(status.Mounts)
			}
			mounted[c.ID] = images
		}
	}
	r.mounted = mounted
	return nil
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
