package daemon

import (
	"context"
	"errors"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/gc"
	"github.com/podctl/podctl/internal/pod"
)

// collected is the runtime as garbage collection needs it. It is not safe for
// concurrent use.
type collected struct {
	*cri.Client
	// mounted are the images that a container mounts as volumes, by its id: its
	// mounts do not change.
	mounted map[string][]string
}

func newCollected(c *cri.Client) *collected {
	return &collected{Client: c, mounted: map[string][]string{}}
}

var _ gc.Runtime = (*collected)(nil)

// Images implements gc.Runtime. An image is in use if any container is made of
// it or mounts it as a volume, also one that podctl does not manage
// (detectImages in pkg/kubelet/images/image_gc_manager.go).
func (r *collected) Images(ctx context.Context) ([]gc.Image, error) {
	// Images before pods: what is pulled for a container that is created
	// meanwhile is not in the list.
	held, err := r.ListImages(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := r.ListPods(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.lookAtMounts(ctx, pods); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, p := range pods {
		for _, c := range p.Containers {
			used[c.ImageID], used[c.Image] = true, true
			for _, image := range r.mounted[c.ID] {
				used[image] = true
			}
		}
	}
	images := make([]gc.Image, 0, len(held))
	for _, i := range held {
		image := gc.Image{ID: i.ID, Size: i.Size, Pinned: i.Pinned, Used: used[i.ID]}
		for _, names := range [...][]string{i.RepoTags, i.RepoDigests} {
			for _, name := range names {
				image.Used = image.Used || used[name]
			}
		}
		images = append(images, image)
	}
	return images, nil
}

// lookAtMounts asks for the mounts of the containers that are new, if the
// runtime can mount images, and forgets those that are gone. While one cannot
// be asked, no image may be taken for unused.
func (r *collected) lookAtMounts(ctx context.Context, pods []*pod.Pod) error {
	version, err := r.Version(ctx)
	if err != nil || !version.ImageVolumes() {
		return err
	}
	mounted := map[string][]string{}
	for _, p := range pods {
		for _, c := range p.Containers {
			images, known := r.mounted[c.ID]
			if !known {
				status, err := r.ContainerStatus(ctx, c.ID)
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

// ImageSpace implements gc.Runtime; 0, 0 where the runtime does not say.
func (r *collected) ImageSpace(ctx context.Context) (capacity, available uint64, err error) {
	dir, err := r.ImageFilesystem(ctx)
	if err != nil || dir == "" {
		return 0, 0, err
	}
	return diskSpace(dir)
}
