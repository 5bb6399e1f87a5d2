package daemon

import (
	"context"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/gc"
	"github.com/podctl/podctl/internal/pods/images"
)

// gcRuntime is the runtime as garbage collection needs it. It is not safe for
// concurrent use.
type gcRuntime struct {
	*cri.Client
	images images.Reader
}

func newGCRuntime(c *cri.Client) *gcRuntime { return &gcRuntime{Client: c} }

var _ gc.Runtime = (*gcRuntime)(nil)

// Images implements gc.Runtime. An image is in use if any container is made of
// it or mounts it as a volume, also one that podctl does not manage
// (detectImages in pkg/kubelet/images/image_gc_manager.go). While what a container mounts
// cannot be read, each image counts as in use.
func (r *gcRuntime) Images(ctx context.Context) ([]gc.Image, error) {
	held, unread, err := r.images.Read(ctx, r.Client, r.ListPods)
	if err != nil {
		return nil, err
	}
	all := make([]gc.Image, 0, len(held))
	for _, i := range held {
		all = append(all, gc.Image{ID: i.ID, Size: i.Size, Pinned: i.Pinned, Used: len(i.Uses)+len(unread) > 0})
	}
	return all, nil
}

// ImageSpace implements gc.Runtime; 0, 0 where the runtime does not say.
func (r *gcRuntime) ImageSpace(ctx context.Context) (capacity, available uint64, err error) {
	dir, err := r.ImageFilesystem(ctx)
	if err != nil || dir == "" {
		return 0, 0, err
	}
	return diskSpace(dir)
}
