package cri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

var imageListSpec = wholeListSpec(
	runtimeapi.ImageService_ListImages_FullMethodName, &runtimeapi.ListImagesRequest{},
	runtimeapi.ImageService_StreamImages_FullMethodName, &runtimeapi.StreamImagesRequest{})

// ListImages returns all images that the runtime holds.
func (c *Client) ListImages(ctx context.Context) ([]*pod.Image, error) {
	r := &runtimeapi.ListImagesResponse{}
	if err := c.imageConn.readList(ctx, imageListSpec, r); err != nil {
		return nil, err
	}
	images := make([]*pod.Image, 0, len(r.Images))
	for _, i := range r.Images {
		images = append(images, toImage(i))
	}
	return images, nil
}

// RemoveImage removes an image by its id; one that is not there is no error.
func (c *Client) RemoveImage(ctx context.Context, id string) error {
	_, err := c.image.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id, UserSpecifiedImage: id}})
	return err
}

// ImageFilesystem is the directory on whose file system images are kept; ""
// where the runtime does not say.
func (c *Client) ImageFilesystem(ctx context.Context) (string, error) {
	r, err := c.image.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return "", err
	}
	for _, fs := range r.ImageFilesystems {
		if mountpoint := fs.GetFsId().GetMountpoint(); mountpoint != "" {
			return mountpoint, nil
		}
	}
	return "", nil
}

// ReopenContainerLog makes the runtime write a running container's log to a
// new file of its path.
func (c *Client) ReopenContainerLog(ctx context.Context, id string) error {
	_, err := c.runtime.ReopenContainerLog(ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: id})
	return err
}
