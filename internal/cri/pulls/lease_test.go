package pulls

import (
	"testing"
	"time"

	leasesapi "github.com/containerd/containerd/api/services/leases/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A pull that ended with the process of containerd leaves its lease.
func TestLeasesOfPulls(t *testing.T) {
	expires := map[string]string{expireLabel: "2026-11-28T08:09:01Z"}
	for name, test := range map[string]struct {
		created time.Time
		labels  map[string]string
		started time.Time
		want    bool
	}{
		"a pull":                             {epoch, expires, epoch.Add(-time.Hour), true},
		"a sandbox":                          {epoch, nil, epoch.Add(-time.Hour), false},
		"from before a restart":              {epoch, expires, epoch.Add(10 * time.Second), false},
		"right after a start":                {epoch, expires, epoch.Add(time.Second), true},
		"the start is not known":             {epoch, expires, time.Time{}, true},
		"neither start nor lease's is known": {time.Time{}, expires, time.Time{}, true},
	} {
		l := &leasesapi.Lease{Labels: test.labels}
		if !test.created.IsZero() {
			l.CreatedAt = timestamppb.New(test.created)
		}
		if got := mayBePull(l, test.started); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
