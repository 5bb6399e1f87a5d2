package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ImageScript says what is special about an image.
type ImageScript struct {
	// Absent: the runtime does not hold it before it was pulled.
	Absent bool
	// PullErr is what a pull answers; nil is success.
	PullErr error
	// PullTakes is how long a pull lasts.
	PullTakes time.Duration
	// UID is who its processes run as, nil for root; User the same by name.
	UID  *int64
	User string
	// Size in bytes; zero means 4 MiB.
	Size uint64
}

type image struct {
	ImageScript
	ref, id string
	present bool
}

func (i *image) digest() string {
	name, _, _ := strings.Cut(i.ref, "@")
	if slash := strings.LastIndex(name, "/"); strings.LastIndex(name, ":") > slash {
		name = name[:strings.LastIndex(name, ":")]
	}
	return name + "@sha256:" + hexSum("manifest of "+i.ref)
}

// SetImage scripts an image. The runtime holds every image that it is asked
// for, unless a script says otherwise.
func (r *Runtime) SetImage(ref string, s ImageScript) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.imageNamed(ref)
	i.ImageScript, i.present = s, !s.Absent
}

// imageNamed finds or makes the image of a name. r.mu is held.
func (r *Runtime) imageNamed(ref string) *image {
	ref = normalizeRef(ref)
	i := r.images[ref]
	if i == nil {
		i = &image{ref: ref, id: "sha256:" + hexSum(ref), present: true}
		r.images[ref] = i
	}
	return i
}

// resolve finds an image that the runtime holds by id, name or digest; nil if
// there is none. r.mu is held.
func (r *Runtime) resolve(ref string) *image {
	for _, i := range r.images {
		if i.present && (i.id == ref || i.digest() == ref || i.id == "sha256:"+ref) {
			return i
		}
	}
	if ref == "" || strings.HasPrefix(ref, "sha256:") {
		return nil
	}
	if i := r.imageNamed(ref); i.present {
		return i
	}
	return nil
}

func (i *image) toCRI() *runtimeapi.Image {
	img := &runtimeapi.Image{
		Id: i.id, RepoTags: []string{i.ref}, RepoDigests: []string{i.digest()}, Size: i.Size, Username: i.User,
	}
	if img.Size == 0 {
		img.Size = 4 << 20
	}
	if i.UID != nil {
		img.Uid = &runtimeapi.Int64Value{Value: *i.UID}
	}
	return img
}

// ImageStatus answers nothing for an image that the runtime does not hold.
func (r *Runtime) ImageStatus(_ context.Context, req *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.resolve(req.GetImage().GetImage())
	if i == nil {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	return &runtimeapi.ImageStatusResponse{Image: i.toCRI()}, nil
}

// PullImage takes as long, and ends, as the image's script says.
func (r *Runtime) PullImage(ctx context.Context, req *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	r.mu.Lock()
	i := r.imageNamed(req.GetImage().GetImage())
	script := i.ImageScript
	r.mu.Unlock()
	end := r.beginTransfer(i, script.PullTakes)
	err := sleep(ctx, script.PullTakes)
	end()
	if err != nil {
		return nil, err
	}
	if script.PullErr != nil {
		return nil, script.PullErr
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i.present = true
	return &runtimeapi.PullImageResponse{ImageRef: i.id}, nil
}

// ListImages lists what the runtime was asked for so far, and holds.
func (r *Runtime) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := &runtimeapi.ListImagesResponse{}
	for _, i := range r.images {
		if i.present {
			resp.Images = append(resp.Images, i.toCRI())
		}
	}
	slices.SortFunc(resp.Images, func(a, b *runtimeapi.Image) int { return strings.Compare(a.Id, b.Id) })
	return resp, nil
}

// RemoveImage removes an image; one that is not there is no error.
func (r *Runtime) RemoveImage(_ context.Context, req *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.resolve(req.GetImage().GetImage()); i != nil {
		i.present = false
	}
	return &runtimeapi.RemoveImageResponse{}, nil
}

// ImageFsInfo sums up the images. Their directory is no other runtime's: by it podctl
// processes that use two simulated runtimes are told apart.
func (r *Runtime) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var used uint64
	for _, i := range r.images {
		if i.present {
			used += i.toCRI().Size
		}
	}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: []*runtimeapi.FilesystemUsage{{
		Timestamp: r.stamp(), FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: r.storage},
		UsedBytes: &runtimeapi.UInt64Value{Value: used}, InodesUsed: &runtimeapi.UInt64Value{Value: 1},
	}}}, nil
}

// normalizeRef gives a name its registry and its tag.
func normalizeRef(ref string) string {
	first, _, hasSlash := strings.Cut(ref, "/")
	switch {
	case !hasSlash:
		ref = "docker.io/library/" + ref
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		ref = "docker.io/" + ref
	}
	if !strings.Contains(ref, "@") && strings.LastIndex(ref, ":") < strings.LastIndex(ref, "/") {
		ref += ":latest"
	}
	return ref
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
