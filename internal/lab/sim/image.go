package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/lab/inject"
)

// ImageScript says what is special about an image.
type ImageScript struct {
	// Absent: the runtime does not hold it before it was pulled.
	Absent bool `json:"absent"`
	// PullErr is what a pull answers; nil is success.
	PullErr error `json:"-"`
	// PullTakes is how long a pull lasts.
	PullTakes time.Duration `json:"-"`
	// UID is who its processes run as, nil for root; User the same by name. GID and
	// Groups are that user's in the image's /etc/passwd and /etc/group.
	UID    *int64  `json:"uid"`
	User   string  `json:"user"`
	GID    int64   `json:"gid"`
	Groups []int64 `json:"groups"`
	// Size in bytes; zero means 4 MiB.
	Size uint64 `json:"size"`
	// Names are other names of the same image.
	Names []string `json:"names"`
	// Command is run by a container that has none.
	Command []string `json:"command"`
}

type image struct {
	ImageScript
	ref, id string
	present bool
}

// tags are the names of an image, none for one that has only a digest.
func (i *image) tags() []string {
	var tags []string
	for _, name := range i.names() {
		if !strings.Contains(name, "@") {
			tags = append(tags, name)
		}
	}
	return tags
}

func (i *image) names() []string {
	names := []string{i.ref}
	for _, name := range i.Names {
		names = append(names, normalizeRef(name))
	}
	return slices.Compact(names)
}

// digest is the digest of the image's manifest, behind its first name.
func (i *image) digest() string { return i.digests()[0] }

func (i *image) digests() []string {
	var digests []string
	for _, name := range i.names() {
		name, digest, given := strings.Cut(name, "@")
		if !given {
			digest = "sha256:" + hexSum("manifest of "+i.ref)
		}
		if slash := strings.LastIndex(name, "/"); strings.LastIndex(name, ":") > slash {
			name = name[:strings.LastIndex(name, ":")]
		}
		digests = append(digests, name+"@"+digest)
	}
	return slices.Compact(digests)
}

// SetImage scripts an image. The runtime holds every image that it is asked
// for, unless a script says otherwise.
func (r *Runtime) SetImage(ref string, s ImageScript) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.imageNamed(ref)
	i.ImageScript, i.present = s, !s.Absent
	for _, name := range s.Names {
		r.images[normalizeRef(name)] = i
	}
}

// LoadImages sets the images of a YAML file: {images: [{names: […], …}]}. The first name of
// an image counts; pull is how long a pull takes, error how it fails.
func (r *Runtime) LoadImages(data []byte) error {
	var file struct {
		Images []struct {
			ImageScript `json:",inline"`
			Pull        metav1.Duration `json:"pull"`
			Error       string          `json:"error"`
		} `json:"images"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return err
	}
	for n, i := range file.Images {
		if len(i.Names) == 0 {
			return fmt.Errorf("images[%d].names: want a name at least", n)
		}
		i.PullTakes = i.Pull.Duration
		if i.Error != "" {
			i.PullErr = errorf(codes.Unknown, "failed to pull and unpack image %q: %s", normalizeRef(i.Names[0]), i.Error)
		}
		r.SetImage(i.Names[0], i.ImageScript)
	}
	return nil
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

// heldImages are the images that the runtime holds, by id. r.mu is held.
func (r *Runtime) heldImages() []*image {
	var held []*image
	for name, i := range r.images {
		if i.present && name == i.ref {
			held = append(held, i)
		}
	}
	slices.SortFunc(held, func(a, b *image) int { return strings.Compare(a.id, b.id) })
	return held
}

// minShortID is how much of an image's id names it at least.
const minShortID = 6

// resolve finds an image that the runtime holds by id, a part of it, name or digest; nil if
// there is none. r.mu is held.
func (r *Runtime) resolve(ref string) *image {
	short := strings.TrimPrefix(ref, "sha256:")
	for _, i := range r.images {
		if i.present && (slices.Contains(i.digests(), ref) || len(short) >= minShortID && strings.HasPrefix(i.id, "sha256:"+short)) {
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
		Id: i.id, RepoTags: i.tags(), RepoDigests: i.digests(), Size: i.Size, Username: i.User,
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
	if err := inject.Wait(ctx, script.PullTakes); err != nil {
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
func (r *Runtime) ListImages(_ context.Context, req *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	resp, held := &runtimeapi.ListImagesResponse{}, r.heldImages()
	if ref := req.GetFilter().GetImage().GetImage(); ref != "" {
		held = nil
		if i := r.resolve(ref); i != nil {
			held = []*image{i}
		}
	}
	for _, i := range held {
		resp.Images = append(resp.Images, i.toCRI())
	}
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
	for _, i := range r.heldImages() {
		used += i.toCRI().Size
	}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: []*runtimeapi.FilesystemUsage{{
		Timestamp: r.stamp(), FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: r.storage},
		UsedBytes: &runtimeapi.UInt64Value{Value: used}, InodesUsed: &runtimeapi.UInt64Value{Value: 1},
	}}}, nil
}

// normalizeRef gives a name its registry and its tag.
func normalizeRef(ref string) string {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return ref
	}
	return named.String()
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
