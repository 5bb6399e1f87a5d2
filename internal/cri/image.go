package cri

import (
	"context"
	"maps"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// ImageStatus looks an image up by name, digest or id; nil, nil if the runtime
// does not hold it.
func (c *Client) ImageStatus(ctx context.Context, image string) (*pod.Image, error) {
	r, err := c.image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}})
	if err != nil {
		return nil, err
	}
	if r.Image == nil {
		return nil, nil
	}
	if r.Image.Id == "" {
		return nil, answerError("ImageStatus", image, "the runtime answered without an id")
	}
	return toImage(r.Image), nil
}

func toImage(i *runtimeapi.Image) *pod.Image {
	img := &pod.Image{
		ID: i.Id, RepoTags: i.RepoTags, RepoDigests: i.RepoDigests,
		Size: i.Size, Username: i.Username, Pinned: i.Pinned,
	}
	if i.Uid != nil {
		img.UID = &i.Uid.Value
	}
	return img
}

// PullImage pulls an image for a pod and returns the runtime's reference of
// it. It blocks for as long as the pull makes progress, in the runtime's
// opinion. auth may be nil. The pod's annotations go with the image, as the
// kubelet sends them (pkg/kubelet/kuberuntime/kuberuntime_image.go); podctl's
// own do not.
func (c *Client) PullImage(ctx context.Context, image string, sandbox *runtimeapi.PodSandboxConfig, auth *runtimeapi.AuthConfig) (string, error) {
	annotations := maps.Clone(sandbox.GetAnnotations())
	delete(annotations, pod.ManifestAnnotation)
	delete(annotations, pod.OwnerAnnotation)
	delete(annotations, pod.InstanceAnnotation)
	delete(annotations, pod.WorkloadAnnotation)
	r, err := c.image.PullImage(ctx, &runtimeapi.PullImageRequest{
		Image:         &runtimeapi.ImageSpec{Image: image, Annotations: annotations},
		Auth:          auth,
		SandboxConfig: sandbox,
	})
	if err != nil {
		return "", err
	}
	if r.ImageRef == "" {
		return "", answerError("PullImage", image, "the runtime answered without a reference")
	}
	return r.ImageRef, nil
}

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
