package pulls

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
)

// Pull is an image pull in flight.
type Pull struct {
	// Image is repository@digest; the digest alone where the manifest came from several
	// repositories or its source is not known yet, "" before there is a manifest.
	Image string
	// Repositories are those that the manifest came from, without the port of the
	// registry, as in "docker.io/library/busybox". More than one is an image with several names.
	Repositories []string
	// Digests are those of the index and of the manifests.
	Digests []string
	// Since is when the pull began; At when it was observed.
	Since, At time.Time
	// Layers are in the order of the manifest, the lowest first.
	Layers []Layer
}

// Layer is a layer of a pull.
type Layer struct {
	Digest string
	// Done and Total are bytes as they are transferred. Total is 0 where it is unknown.
	// Invariant: 0 <= Done, and Done <= Total where it is known.
	Done, Total int64
	// Started is when the transfer began, Updated when Done grew; zero where the layer waits,
	// or is complete.
	Started, Updated time.Time
}

// Complete reports whether all of the layer is there.
func (l Layer) Complete() bool { return l.Total > 0 && l.Done == l.Total }

// Done returns the bytes that are there. Layers that were there before count.
func (p Pull) Done() int64 {
	var sum int64
	for _, l := range p.Layers {
		sum = add(sum, l.Done)
	}
	return sum
}

// Total returns the bytes of all layers, 0 where one is unknown.
func (p Pull) Total() int64 {
	var sum int64
	for _, l := range p.Layers {
		if l.Total == 0 {
			return 0
		}
		sum = add(sum, l.Total)
	}
	return sum
}

// Transferred reports whether all layers are there, so that the pull only unpacks them.
func (p Pull) Transferred() bool {
	return len(p.Layers) > 0 && !slices.ContainsFunc(p.Layers, func(l Layer) bool { return !l.Complete() })
}

// LongIdle is from when on a pull is taken for one that receives nothing at present.
const LongIdle = 30 * time.Second

// Idle returns for how long no layer in flight has grown, 0 where none is in flight.
// containerd counts by the megabyte: a pull of 10 KiB a second is idle for 100 s at a time.
func (p Pull) Idle() time.Duration {
	var last time.Time
	for _, l := range p.Layers {
		if l.Updated.After(last) {
			last = l.Updated
		}
	}
	if last.IsZero() {
		return 0
	}
	if last.Before(p.Since) { // an earlier pull has left a part of the layer
		last = p.Since
	}
	return max(0, p.At.Sub(last))
}

// Of reports whether the pull may be one of the image: of a digest that it has, or of the
// repository, whose tag containerd does not know during the pull.
func (p Pull) Of(image string) bool {
	ref, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return false
	}
	if digested, ok := ref.(reference.Digested); ok && !slices.Contains(p.Digests, digested.Digest().String()) {
		return false
	}
	return slices.Contains(p.Repositories, withoutPort(reference.Domain(ref))+"/"+reference.Path(ref))
}

// withoutPort returns the host of a registry as containerd's labels have it.
func withoutPort(domain string) string {
	if i := strings.LastIndexByte(domain, ':'); i > strings.LastIndexByte(domain, ']') {
		domain = domain[:i]
	}
	return strings.Trim(domain, "[]")
}

// Find returns the pull of the image; nil where there is none, or where several may be it.
func Find(all []Pull, image string) *Pull {
	var found *Pull
	for i := range all {
		if all[i].Of(image) {
			if found != nil {
				return nil
			}
			found = &all[i]
		}
	}
	return found
}

// Rate returns the bytes per second between two observations of a pull. Without an earlier
// one it is the average of the layers in flight since their transfer began, or 0 after LongIdle.
func Rate(before *Pull, now Pull) float64 {
	if before == nil {
		if now.Idle() >= LongIdle {
			return 0
		}
		return average(now)
	}
	elapsed := now.At.Sub(before.At)
	if elapsed <= 0 {
		return 0
	}
	var sum int64
	for _, l := range now.Layers {
		if i := slices.IndexFunc(before.Layers, func(b Layer) bool { return b.Digest == l.Digest }); i >= 0 {
			sum = add(sum, max(0, l.Done-before.Layers[i].Done))
		}
	}
	return float64(sum) / elapsed.Seconds()
}

func average(p Pull) float64 {
	var sum float64
	for _, l := range p.Layers {
		if elapsed := p.At.Sub(l.Started); !l.Started.IsZero() && elapsed > 0 {
			sum += float64(l.Done) / elapsed.Seconds()
		}
	}
	return sum
}

// add returns the sum of two sizes, at most the largest int64.
func add(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
