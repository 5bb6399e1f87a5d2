package daemon

import (
	"context"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/gc"
)

// collected is the runtime as garbage collection needs it.
type collected struct{ *cri.Client }

var _ gc.Runtime = collected{}

// Images implements gc.Runtime. An image is in use if any container has it,
// also one that podctl does not manage.
func (r collected) Images(ctx context.Context) ([]gc.Image, error) {
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
	used := map[string]bool{}
	for _, p := range pods {
		for _, c := range p.Containers {
			used[c.ImageID], used[c.Image] = true, true
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

// ImageSpace implements gc.Runtime; 0, 0 where the runtime does not say.
func (r collected) ImageSpace(ctx context.Context) (capacity, available uint64, err error) {
	dir, err := r.ImageFilesystem(ctx)
	if err != nil || dir == "" {
		return 0, 0, err
	}
	return diskSpace(dir)
}
