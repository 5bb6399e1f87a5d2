package pulls

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	leasesapi "github.com/containerd/containerd/api/services/leases/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/sys/proc"
)

const (
	// namespace is containerd's for what the CRI created.
	namespace = "k8s.io"
	// refLabels begin the labels of a manifest or an index that name what it refers to.
	refLabels = "containerd.io/gc.ref.content."
	// sourceLabels begin the labels that name the repositories of a registry's host.
	sourceLabels = "containerd.io/distribution.source."
)

// Reader lists the pulls of a runtime. It is not safe for concurrent use.
type Reader struct {
	client    *cri.Client
	content   contentapi.ContentClient
	leases    leasesapi.LeasesClient
	snapshots snapshotsapi.SnapshotsClient
	now       func() time.Time
	// documents are those of the last List, by digest: they never change. nil is one that
	// cannot be read.
	documents map[string]*document
}

// NewReader returns a Reader of the runtime that the client is connected to.
func NewReader(client *cri.Client, now func() time.Time) *Reader {
	conn := client.ImageConn()
	return &Reader{
		client: client, now: now,
		content: contentapi.NewContentClient(conn), leases: leasesapi.NewLeasesClient(conn), snapshots: snapshotsapi.NewSnapshotsClient(conn),
	}
}

// List returns the pulls in flight, the oldest first. A pull is listed as soon as its
// registry has sent anything. The error is a cri.ErrUnsupported if the runtime does not
// report pulls; with it, and not nil, those of a CRI-O, whose images are not known.
func (r *Reader) List(ctx context.Context) ([]Pull, error) {
	ctx, cancel := context.WithTimeout(ctx, r.client.Endpoint().Timeout)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
	f := facts{ingests: map[string]ingest{}, documents: map[string]*document{}, sources: map[string][]string{}, present: map[string]bool{}}
	statuses, err := r.content.ListStatuses(ctx, &contentapi.ListStatusesRequest{})
	f.at = r.now()
	if errors.Is(err, cri.ErrUnsupported) {
		return r.unreported(f.at), unreportedError{r.client.Connected().Name}
	}
	if err != nil {
		return nil, err
	}
	for _, s := range statuses.GetStatuses() {
		f.ingests[s.GetRef()] = ingest{s.GetOffset(), s.GetTotal(), timeOf(s.GetStartedAt()), timeOf(s.GetUpdatedAt())}
	}
	if f.leases, err = r.readLeases(ctx); err != nil {
		return nil, err
	}
	for _, l := range f.leases {
		if err := r.readDocuments(ctx, &f, l); err != nil {
			return nil, err
		}
		if err := r.findLayers(ctx, &f, l); err != nil {
			return nil, err
		}
	}
	r.documents = f.documents
	return assemble(f), nil
}

// unreportedError is a runtime without containerd's services.
type unreportedError struct{ runtime string }

func (e unreportedError) Error() string { return e.runtime + " does not report which images it pulls" }
func (e unreportedError) Unwrap() error { return cri.ErrUnsupported }

// unreported returns the pulls of a runtime that does not report them, nil if they are not
// known either.
func (r *Reader) unreported(now time.Time) []Pull {
	if s := r.server(); s.PID != 0 && r.client.Connected().Name == "cri-o" {
		return crioPulls(proc.Default, s.PID, now)
	}
	return nil
}

// server is the process that pulls.
func (r *Reader) server() cri.Server {
	return cri.ServerOf(cri.Endpoint{Runtime: r.client.Endpoint().Image})
}

// readDocuments reads the manifests and indexes of a lease.
func (r *Reader) readDocuments(ctx context.Context, f *facts, l lease) error {
	for _, digest := range l.content {
		if _, done := f.documents[digest]; done || r.isLeaf(l, digest) {
			continue
		}
		info, err := r.info(ctx, digest)
		if err != nil {
			return err
		}
		if !refers(info) {
			continue
		}
		if f.documents[digest], err = r.document(ctx, digest, info.GetSize()); err != nil {
			return err
		}
		f.sources[digest] = sourcesOf(info)
	}
	return nil
}

// isLeaf reports whether a manifest of the last List has the blob as a layer or config.
func (r *Reader) isLeaf(l lease, digest string) bool {
	return slices.ContainsFunc(l.content, func(of string) bool {
		d := r.documents[of]
		return d != nil && (d.Config.Digest == digest || slices.ContainsFunc(d.Layers, func(l descriptor) bool { return l.Digest == digest }))
	})
}

// refers reports whether a blob is a manifest or an index.
func refers(info *contentapi.Info) bool {
	for label := range info.GetLabels() {
		if strings.HasPrefix(label, refLabels) {
			return true
		}
	}
	return false
}

// sourcesOf returns the repositories that a blob came from, sorted.
func sourcesOf(info *contentapi.Info) []string {
	var all []string
	for label, repositories := range info.GetLabels() {
		if host, ok := strings.CutPrefix(label, sourceLabels); ok {
			for repository := range strings.SplitSeq(repositories, ",") {
				all = append(all, host+"/"+repository)
			}
		}
	}
	slices.Sort(all)
	return all
}

// findLayers finds the layers of a lease's manifests that are there though neither
// transferred nor held by the lease: they are stored, or were unpacked earlier.
func (r *Reader) findLayers(ctx context.Context, f *facts, l lease) error {
	for _, of := range l.content {
		d := f.documents[of]
		if d == nil {
			continue
		}
		ids, err := r.chainIDs(ctx, l, d)
		if err != nil {
			return err
		}
		for n, layer := range d.Layers {
			if _, transferred := f.ingests["layer-"+layer.Digest]; transferred || f.present[layer.Digest] || slices.Contains(l.content, layer.Digest) {
				continue
			}
			chainID := ""
			if len(ids) == len(d.Layers) {
				chainID = ids[n]
			}
			if f.present[layer.Digest], err = r.isPresent(ctx, l, layer.Digest, chainID); err != nil {
				return err
			}
		}
	}
	return nil
}

// isPresent reports whether a layer is stored, or unpacked.
func (r *Reader) isPresent(ctx context.Context, l lease, digest, chainID string) (bool, error) {
	if chainID != "" && slices.Contains(l.unpacked, chainID) {
		return true, nil
	}
	if info, err := r.info(ctx, digest); err != nil || info != nil {
		return info != nil, err
	}
	if chainID == "" || l.snapshotter == "" {
		return false, nil
	}
	_, err := r.snapshots.Stat(ctx, &snapshotsapi.StatSnapshotRequest{Snapshotter: l.snapshotter, Key: chainID})
	if errors.Is(err, cri.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// chainIDs returns the names of the snapshots of a manifest's layers; none if its config
// is not there yet or cannot be read.
func (r *Reader) chainIDs(ctx context.Context, l lease, d *document) ([]string, error) {
	if !slices.Contains(l.content, d.Config.Digest) {
		return nil, nil
	}
	if d.chainIDs == nil {
		data, err := r.read(ctx, d.Config.Digest, d.Config.Size)
		if err != nil {
			return nil, err
		}
		d.chainIDs = parseChainIDs(data)
	}
	return d.chainIDs, nil
}

func (r *Reader) document(ctx context.Context, digest string, size int64) (*document, error) {
	if d, ok := r.documents[digest]; ok {
		return d, nil
	}
	data, err := r.read(ctx, digest, size)
	if err != nil {
		return nil, err
	}
	return parseDocument(data), nil
}

// timeOf is the zero time where containerd does not say.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// info returns what containerd knows of a blob, nil if it is not stored.
func (r *Reader) info(ctx context.Context, digest string) (*contentapi.Info, error) {
	answer, err := r.content.Info(ctx, &contentapi.InfoRequest{Digest: digest})
	if errors.Is(err, cri.ErrNotFound) {
		return nil, nil
	}
	return answer.GetInfo(), err
}

// read returns a blob, nothing if it is too large or was removed.
func (r *Reader) read(ctx context.Context, digest string, size int64) ([]byte, error) {
	if size <= 0 || size > maxDocument {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.content.Read(ctx, &contentapi.ReadContentRequest{Digest: digest, Size: size})
	var data []byte
	for err == nil && int64(len(data)) < size {
		var part *contentapi.ReadContentResponse
		if part, err = stream.Recv(); err == nil {
			data = append(data, part.GetData()...)
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, cri.ErrNotFound) {
		err = nil
	}
	return data, err
}
