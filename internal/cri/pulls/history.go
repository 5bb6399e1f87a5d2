package pulls

import (
	"slices"
	"time"
)

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
