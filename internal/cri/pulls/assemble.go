package pulls

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// lease is a lease of containerd, which a pull holds until it ends.
type lease struct {
	id      string
	created time.Time
	// content are digests, ingests references of transfers.
	content, ingests []string
	// unpacked are the names of snapshots, snapshotter is what keeps them.
	unpacked    []string
	snapshotter string
}

// ingest is a blob that is being transferred.
type ingest struct {
	offset, total    int64
	started, updated time.Time
}

// facts are the answers of one List.
type facts struct {
	at     time.Time
	leases []lease
	// ingests by the reference of the transfer.
	ingests map[string]ingest
	// documents are the manifests and indexes of the leases by digest, nil for one that
	// cannot be read, and sources the repositories that they came from.
	documents map[string]*document
	sources   map[string][]string
	// present are the layers, by digest, that are stored or unpacked.
	present map[string]bool
}

// assemble makes pulls of facts, the oldest first. Pulls of one image are joined.
func assemble(f facts) []Pull {
	var all []Pull
	for _, l := range f.leases {
		p, ok := f.pullOf(l)
		if !ok {
			continue
		}
		i := slices.IndexFunc(all, func(other Pull) bool { return p.Image != "" && other.Image == p.Image })
		switch {
		case i < 0:
			all = append(all, p)
		case p.Since.Before(all[i].Since):
			all[i].Since = p.Since
		}
	}
	slices.SortStableFunc(all, func(a, b Pull) int { return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Image, b.Image)) })
	return all
}

// pullOf returns the pull that holds the lease, false if none does.
func (f facts) pullOf(l lease) (Pull, bool) {
	p := Pull{Since: l.created, At: f.at}
	children := map[string]bool{}
	for _, digest := range l.content {
		if d := f.documents[digest]; d != nil {
			for _, child := range d.Manifests {
				children[child.Digest] = true
			}
		}
	}
	root := ""
	for _, digest := range l.content {
		d, isDocument := f.documents[digest]
		if !isDocument {
			continue
		}
		p.Digests = append(p.Digests, digest)
		if root == "" && !children[digest] {
			root = digest
		}
		if d != nil && !d.isIndex() {
			p.Layers = f.addLayers(p.Layers, l, d.Layers)
		}
	}
	transfers := f.addTransfers(&p, l)
	if root == "" && len(p.Digests) > 0 {
		root = p.Digests[0]
	}
	p.Repositories = f.sources[root]
	if p.Image = root; len(p.Repositories) == 1 {
		p.Image = p.Repositories[0] + "@" + root
	}
	return p, transfers || len(p.Digests) > 0
}

// addLayers appends the layers of a manifest that are not there yet.
func (f facts) addLayers(layers []Layer, l lease, of []descriptor) []Layer {
	for _, d := range of {
		if slices.ContainsFunc(layers, func(other Layer) bool { return other.Digest == d.Digest }) {
			continue
		}
		layer := Layer{Digest: d.Digest, Total: max(0, d.Size)}
		if i, ok := f.ingests["layer-"+d.Digest]; ok {
			layer = i.layer(d.Digest, layer.Total)
		} else if f.present[d.Digest] || slices.Contains(l.content, d.Digest) {
			layer.Done = layer.Total
		}
		layers = append(layers, layer)
	}
	return layers
}

// addTransfers adds what a lease transfers and no manifest has named, and reports whether
// it transfers anything.
func (f facts) addTransfers(p *Pull, l lease) bool {
	found := false
	for _, ref := range l.ingests {
		i, ok := f.ingests[ref]
		if !ok {
			continue
		}
		found = true
		kind, digest, _ := strings.Cut(ref, "-")
		switch kind {
		case "layer":
			if !slices.ContainsFunc(p.Layers, func(other Layer) bool { return other.Digest == digest }) {
				p.Layers = append(p.Layers, i.layer(digest, 0))
			}
		case "index", "manifest":
			p.Digests = append(p.Digests, digest)
		}
	}
	return found
}

// layer returns the layer that an ingest transfers; total is what the manifest says.
func (i ingest) layer(digest string, total int64) Layer {
	if total == 0 {
		total = max(0, i.total)
	}
	done := max(0, i.offset)
	if total > 0 {
		done = min(done, total)
	}
	return Layer{Digest: digest, Done: done, Total: total, Started: i.started, Updated: i.updated}
}

// window is over how long a rate is measured at most, minWindow at least: containerd counts
// the bytes of a layer by the megabyte.
const window, minWindow = 10 * time.Second, 3 * time.Second

// History keeps what was observed for as long as rates need it. The zero value is empty.
type History struct{ lists [][]Pull }

// Add adds what was observed at one time.
func (h *History) Add(all []Pull) {
	if len(all) == 0 {
		h.lists = nil
		return
	}
	h.lists = append(h.lists, all)
	for len(h.lists) > 2 && h.lists[1][0].At.Add(window).Before(all[0].At) {
		h.lists = h.lists[1:]
	}
}

// Rate returns the bytes per second of a pull of the last Add: since its first observation
// in the window, or if that is too short the average of the layers in flight.
func (h *History) Rate(now Pull) float64 {
	for _, all := range h.lists {
		i := slices.IndexFunc(all, func(p Pull) bool { return p.Image == now.Image && p.Since.Equal(now.Since) })
		if i >= 0 && now.At.Sub(all[i].At) >= minWindow {
			return Rate(&all[i], now)
		}
	}
	return Rate(nil, now)
}
