package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/usage"
	"github.com/podctl/podctl/internal/pods/view"
)

// runPulling lists the pulls in flight.
func runPulling(ctx context.Context, e *shell.Env, o imagesOptions) error {
	s, err := shell.ConnectSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	reader, history, warned := pulls.NewReader(s.Client, e.Now), pulls.History{}, ""
	return o.Show(ctx, e, "no pulls in flight", func(ctx context.Context) (output.List, error) {
		all, err := reader.List(ctx)
		if errors.Is(err, cri.ErrUnsupported) && all != nil {
			e.WarnOnce(&warned, err)
			err = nil
		}
		if err != nil {
			return output.List{}, err
		}
		history.Add(all)
		if err := s.ListOwned(ctx, e, o.Globals); err != nil {
			return output.List{}, err
		}
		s.ReadObjects(ctx, s.Pods)
		list := output.List{Header: []string{"IMAGE", "DONE", "TOTAL", "RATE", "LAYERS", "SINCE", "WANTED BY"}}
		for _, p := range all {
			list.Items = append(list.Items, o.pullingItem(newPullingData(p, history.Rate(p), view.WantedBy(p, s.Pods)), e.Now()))
		}
		return list, nil
	})
}

// pullingData is one pull of `podctl images --pulling -o json`.
type pullingData struct {
	Image          string      `json:"image,omitempty"`        // repository@digest, or the digest alone; missing if it is not known
	Repositories   []string    `json:"repositories,omitempty"` // that the manifest came from, without the port of the registry
	Since          time.Time   `json:"since,omitzero"`         // when the pull began
	Bytes          int64       `json:"bytes"`                  // that are there; layers that were there before count
	Total          int64       `json:"total,omitempty"`        // bytes of all layers, missing if it is not known
	BytesPerSecond float64     `json:"bytesPerSecond"`         // with --watch of the last seconds, else since the layers in flight began
	Layers         []layerData `json:"layers"`                 // the lowest first
	WantedBy       []imageUser `json:"wantedBy"`               // containers that do not run and whose image has this repository
}

// layerData is a layer of a pull.
type layerData struct {
	Digest string `json:"digest,omitempty"` // missing if it is not known
	Bytes  int64  `json:"bytes"`            // that are there
	Total  int64  `json:"total,omitempty"`  // missing if it is not known
}

func newPullingData(p pulls.Pull, rate float64, wanted []images.Use) pullingData {
	d := pullingData{
		Image: p.Image, Repositories: p.Repositories, Since: p.Since, Bytes: p.Done(), Total: p.Total(), BytesPerSecond: rate,
		Layers: []layerData{}, WantedBy: []imageUser{},
	}
	for _, l := range p.Layers {
		d.Layers = append(d.Layers, layerData{l.Digest, l.Done, l.Total})
	}
	for _, u := range wanted {
		d.WantedBy = append(d.WantedBy, newImageUser(u))
	}
	return d
}

func (o imagesOptions) pullingItem(d pullingData, now time.Time) output.Item {
	total, layers, since, complete := "-", "-", output.Since(now, d.Since), 0
	for _, l := range d.Layers {
		if l.Total > 0 && l.Bytes == l.Total {
			complete++
		}
	}
	if d.Total > 0 {
		total, layers = usage.Size(uint64(d.Total)), fmt.Sprintf("%d/%d", complete, len(d.Layers))
	}
	var wanted []string
	for _, u := range d.WantedBy {
		if name := pod.DisplayName(u.Namespace, u.Pod); !slices.Contains(wanted, name) {
			wanted = append(wanted, name)
		}
	}
	return output.Item{
		Name: cmp.Or(d.Image, d.Since.Format(time.RFC3339Nano)), Data: d,
		Cells: []string{
			cmp.Or(o.shortDigest(d.Image), "unknown"), usage.Size(uint64(d.Bytes)), total, usage.Size(uint64(d.BytesPerSecond)) + "/s",
			layers, since, cmp.Or(strings.Join(wanted, ", "), "-"),
		},
	}
}

// shortDigest cuts the digest of an image's name as an id is cut, unless --no-trunc is set.
func (o imagesOptions) shortDigest(image string) string {
	i := strings.LastIndex(image, "sha256:")
	if i < 0 || o.NoTrunc {
		return image
	}
	return image[:i] + "sha256:" + pod.ShortID(image[i+len("sha256:"):])
}
