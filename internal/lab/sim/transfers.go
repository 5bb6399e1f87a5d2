package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	leasesapi "github.com/containerd/containerd/api/services/leases/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// transfer is a pull in flight, as containerd's own services show it.
type transfer struct {
	image image
	begun time.Time
	takes time.Duration
}

// contentService and leaseService are the services of containerd that show pulls in flight.
type contentService struct {
	contentapi.UnimplementedContentServer
	r *Runtime
}

type leaseService struct {
	leasesapi.UnimplementedLeasesServer
	r *Runtime
}

// beginTransfer makes a pull visible until end is called.
func (r *Runtime) beginTransfer(i *image, takes time.Duration) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &transfer{*i, r.opts.Clock(), takes}
	r.transfers = append(r.transfers, t)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.transfers = slices.DeleteFunc(r.transfers, func(other *transfer) bool { return other == t })
	}
}

// sizes are those of the layers: an image has two, which are transferred side by side at
// one speed.
func (t *transfer) sizes() []int64 {
	size := int64(t.image.toCRI().Size)
	return []int64{size / 4, size - size/4}
}

// done is how much of each layer is there.
func (t *transfer) done(now time.Time) []int64 {
	sizes := t.sizes()
	bytes := int64(float64(sizes[1]) * min(1, float64(now.Sub(t.begun))/float64(max(1, t.takes))))
	return []int64{min(sizes[0], bytes), min(sizes[1], bytes)}
}

// layer is the digest of a layer.
func (t *transfer) layer(n int) string {
	return "sha256:" + hexSum(fmt.Sprintf("layer %d of %s", n, t.image.ref))
}

// source is where the manifest comes from: the host of the registry, without a port, and
// the path and digest there.
func (t *transfer) source() (host, path, digest string) {
	name, digest, _ := strings.Cut(t.image.digest(), "@")
	domain, path, _ := strings.Cut(name, "/")
	host, _, _ = strings.Cut(domain, ":")
	return host, path, digest
}

func (t *transfer) manifest() []byte {
	type descriptor struct {
		Digest string `json:"digest"`
		Size   int64  `json:"size"`
	}
	var layers []descriptor
	for n, size := range t.sizes() {
		layers = append(layers, descriptor{t.layer(n), size})
	}
	data, _ := json.Marshal(map[string]any{"schemaVersion": 2, "layers": layers}) // cannot fail
	return data
}

// ListStatuses lists the layers that are not complete.
func (s contentService) ListStatuses(context.Context, *contentapi.ListStatusesRequest) (*contentapi.ListStatusesResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	resp, now := &contentapi.ListStatusesResponse{}, s.r.opts.Clock()
	for _, t := range s.r.transfers {
		sizes := t.sizes()
		for n, done := range t.done(now) {
			if done < sizes[n] {
				resp.Statuses = append(resp.Statuses, &contentapi.Status{
					Ref: "layer-" + t.layer(n), Offset: done, Total: sizes[n], StartedAt: timestamppb.New(t.begun), UpdatedAt: timestamppb.New(now),
				})
			}
		}
	}
	return resp, nil
}

// List lists a lease for each pull.
func (s leaseService) List(context.Context, *leasesapi.ListRequest) (*leasesapi.ListResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	resp := &leasesapi.ListResponse{}
	for _, t := range s.r.transfers {
		resp.Leases = append(resp.Leases, &leasesapi.Lease{
			ID: t.image.ref, CreatedAt: timestamppb.New(t.begun),
			Labels: map[string]string{"containerd.io/gc.expire": t.begun.Add(24 * time.Hour).Format(time.RFC3339)},
		})
	}
	return resp, nil
}

// ListResources lists the manifest and the layers of a pull.
func (s leaseService) ListResources(_ context.Context, req *leasesapi.ListResourcesRequest) (*leasesapi.ListResourcesResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	resp, now := &leasesapi.ListResourcesResponse{}, s.r.opts.Clock()
	for _, t := range s.r.transfers {
		if t.image.ref != req.GetID() {
			continue
		}
		_, _, manifest := t.source()
		resp.Resources = append(resp.Resources, &leasesapi.Resource{ID: manifest, Type: "content"})
		sizes := t.sizes()
		for n, done := range t.done(now) {
			resource := &leasesapi.Resource{ID: t.layer(n), Type: "content"}
			if done < sizes[n] {
				resource = &leasesapi.Resource{ID: "layer-" + t.layer(n), Type: "ingests"}
			}
			resp.Resources = append(resp.Resources, resource)
		}
		return resp, nil
	}
	return nil, errorf(codes.NotFound, "lease %q: not found", req.GetID())
}

// Info knows the manifests of the pulls in flight.
func (s contentService) Info(_ context.Context, req *contentapi.InfoRequest) (*contentapi.InfoResponse, error) {
	t := s.r.transferOf(req.GetDigest())
	if t == nil {
		return nil, errorf(codes.NotFound, "content %s: not found", req.GetDigest())
	}
	host, path, digest := t.source()
	return &contentapi.InfoResponse{Info: &contentapi.Info{
		Digest: digest, Size: int64(len(t.manifest())),
		Labels: map[string]string{"containerd.io/distribution.source." + host: path, "containerd.io/gc.ref.content.l.0": t.layer(0), "containerd.io/gc.ref.content.l.1": t.layer(1)},
	}}, nil
}

// Read sends a manifest.
func (s contentService) Read(req *contentapi.ReadContentRequest, to contentapi.Content_ReadServer) error {
	t := s.r.transferOf(req.GetDigest())
	if t == nil {
		return errorf(codes.NotFound, "content %s: not found", req.GetDigest())
	}
	return to.Send(&contentapi.ReadContentResponse{Data: t.manifest()})
}

// transferOf returns the pull of a manifest, nil if there is none.
func (r *Runtime) transferOf(digest string) *transfer {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.transfers {
		if _, _, of := t.source(); of == digest {
			return t
		}
	}
	return nil
}
