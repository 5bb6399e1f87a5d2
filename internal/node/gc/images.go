package gc

import (
	"cmp"
	"slices"
	"time"
)

// Image is an image that the runtime holds.
type Image struct {
	ID   string
	Size uint64 // bytes
	// Pinned: the runtime asks to keep it.
	Pinned bool
	// Used: a container is made of it, or mounts it as a volume.
	Used bool
}

// Seen is when an image was first seen and last used.
type Seen struct{ First, Used time.Time }

// UpdateSeen returns what is known of the images once they were listed: those that are
// gone are forgotten. Pure; before is not changed.
func UpdateSeen(before map[string]Seen, images []Image, now time.Time) map[string]Seen {
	seen := map[string]Seen{}
	for _, i := range images {
		s, known := before[i.ID]
		if !known {
			s.First = now
		}
		if i.Used {
			s.Used = now
		}
		seen[i.ID] = s
	}
	return seen
}

// ImagePolicy is when images go.
type ImagePolicy struct {
	// High is the usage of the file system, in per cent, from which images are
	// removed, until it is at Low. 100 is never.
	High, Low int
	// MinAge is how long ago an image must have been seen first.
	MinAge time.Duration
}

// BytesToFree returns how many bytes are to be freed of a file system; 0 is none.
func (p ImagePolicy) BytesToFree(capacity, available uint64) uint64 {
	available = min(available, capacity)
	if capacity == 0 || p.High >= 100 || 100-int(available*100/capacity) < p.High {
		return 0
	}
	free := capacity / 100 * uint64(100-p.Low)
	return free - min(free, available)
}

// ImagesToRemove returns the images to remove for that many bytes: neither used nor
// pinned nor young, the ones that were used longest ago first and, of those,
// the ones that were seen first. They may free less than was asked for. Pure.
func ImagesToRemove(images []Image, seen map[string]Seen, need uint64, p ImagePolicy, now time.Time) []Image {
	var free []Image
	for _, i := range images {
		s := seen[i.ID]
		// What was used since now is in use by a container that was created meanwhile.
		if i.Used || i.Pinned || !s.Used.Before(now) || now.Sub(s.First) < p.MinAge {
			continue
		}
		free = append(free, i)
	}
	slices.SortFunc(free, func(a, b Image) int {
		return cmp.Or(seen[a.ID].Used.Compare(seen[b.ID].Used), seen[a.ID].First.Compare(seen[b.ID].First), cmp.Compare(a.ID, b.ID))
	})
	var freed uint64
	for n, i := range free {
		if freed >= need {
			return free[:n]
		}
		freed += i.Size
	}
	return free
}
