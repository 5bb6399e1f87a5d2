package describe

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/usage"
)

// Pull is the pull in flight that a container waits for.
type Pull struct {
	Image          string    `json:"image"`           // repository@digest, or the digest alone
	Since          time.Time `json:"since"`           // when the pull began
	Bytes          int64     `json:"bytes"`           // that are there; layers that were there before count
	Total          int64     `json:"total,omitempty"` // bytes of all layers, missing if it is not known
	BytesPerSecond float64   `json:"bytesPerSecond"`  // since the layers in flight began
	Progress       string    `json:"progress"`        // the same in words
}

// addPulls adds the pulls in flight of the images that containers wait for. A runtime that
// does not report its pulls has none.
func (c *collection) addPulls(ctx context.Context, f *Facts) {
	if c.Pulls == nil || !slices.ContainsFunc(f.Containers, func(c Container) bool { return c.mayPull() }) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, layerTimeout)
	defer cancel()
	all, err := c.Pulls(ctx)
	if err != nil && !errors.Is(err, cri.ErrUnsupported) {
		c.unread = append(c.unread, Unread{"pulls", err.Error()})
	}
	for i := range f.Containers {
		w := &f.Containers[i]
		if p := pulls.Find(all, w.Image); p != nil && w.mayPull() {
			rate := pulls.Rate(nil, *p)
			w.Pull = &Pull{p.Image, p.Since, p.Done(), p.Total(), rate, images.ProgressText(*p, rate, usage.Bytes[uint64])}
		}
	}
}

// mayPull reports whether a container waits, and for no end of a back-off.
func (c *Container) mayPull() bool { return c.State == stateWaiting && c.RetryAt.IsZero() }
