package pulls

import (
	"context"
	"errors"
	"strings"
	"time"

	leasesapi "github.com/containerd/containerd/api/services/leases/v1"

	"github.com/podctl/podctl/internal/cri"
)

const (
	// maxLeases bounds the leases that are looked at, maxResources those of one lease.
	maxLeases, maxResources = 200, 10_000
	// expireLabel has the lease of every pull, and no lease of a sandbox.
	expireLabel = "containerd.io/gc.expire"
	// startSlack is how inexactly the start of a process is known.
	startSlack = 2 * time.Second
)

// readLeases returns the leases that pulls may hold.
func (r *Reader) readLeases(ctx context.Context) ([]lease, error) {
	answer, err := r.leases.List(ctx, &leasesapi.ListRequest{})
	if err != nil {
		return nil, err
	}
	started := r.server().Started
	var all []lease
	for _, l := range answer.GetLeases() {
		if !mayBePull(l, started) {
			continue
		}
		if len(all) == maxLeases {
			break
		}
		found, err := r.readLease(ctx, lease{id: l.GetID(), created: timeOf(l.GetCreatedAt())})
		switch {
		case errors.Is(err, cri.ErrNotFound): // the pull has ended
		case err != nil:
			return nil, err
		default:
			all = append(all, found)
		}
	}
	return all, nil
}

// mayBePull reports whether a lease may be that of a pull. One from before the start of the
// runtime's process belongs to a pull that ended with that before it; containerd keeps it
// for a day.
func mayBePull(l *leasesapi.Lease, started time.Time) bool {
	_, expires := l.GetLabels()[expireLabel]
	return expires && !timeOf(l.GetCreatedAt()).Before(started.Add(-startSlack))
}

func (r *Reader) readLease(ctx context.Context, l lease) (lease, error) {
	answer, err := r.leases.ListResources(ctx, &leasesapi.ListResourcesRequest{ID: l.id})
	if err != nil {
		return lease{}, err
	}
	resources := answer.GetResources()
	for _, resource := range resources[:min(len(resources), maxResources)] {
		id := resource.GetID()
		switch kind, snapshotter, _ := strings.Cut(resource.GetType(), "/"); kind {
		case "content":
			l.content = append(l.content, id)
		case "ingests":
			l.ingests = append(l.ingests, id)
		case "snapshots":
			l.unpacked, l.snapshotter = append(l.unpacked, id), snapshotter
		}
	}
	return l, nil
}
