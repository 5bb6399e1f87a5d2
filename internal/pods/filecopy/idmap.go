package filecopy

import (
	"fmt"
	"strings"
)

// IDMap maps the user and group ids of a user namespace to those of the host. The zero
// value maps each to itself.
type IDMap struct{ UIDs, GIDs []Range }

// Range maps Length ids from Inside in the namespace to those from Outside on the host.
type Range struct{ Inside, Outside, Length int }

// overflowID stands for an id that a namespace does not have
// (/proc/sys/kernel/overflowuid).
const overflowID = 65534

// ToHost returns an id on the host; ok is false if the namespace has no such id.
func (IDMap) ToHost(id int, ranges []Range) (host int, ok bool) {
	if ranges == nil {
		return id, true
	}
	for _, r := range ranges {
		if id >= r.Inside && id-r.Inside < r.Length {
			return r.Outside + id - r.Inside, true
		}
	}
	return 0, false
}

// FromHost returns an id as the namespace shows it.
func (IDMap) FromHost(id int, ranges []Range) int {
	if ranges == nil {
		return id
	}
	for _, r := range ranges {
		if id >= r.Outside && id-r.Outside < r.Length {
			return r.Inside + id - r.Outside
		}
	}
	return overflowID
}

// Identity reports whether every id is the same on the host.
func (m IDMap) Identity() bool {
	for _, ranges := range [][]Range{m.UIDs, m.GIDs} {
		for _, r := range ranges {
			if r.Inside != r.Outside {
				return false
			}
		}
	}
	return true
}

// readRanges reads /proc/PID/uid_map or gid_map.
func readRanges(text []byte) (ranges []Range, err error) {
	for line := range strings.Lines(string(text)) {
		var n Range
		if _, err := fmt.Sscan(line, &n.Inside, &n.Outside, &n.Length); err != nil {
			return nil, fmt.Errorf("read id map: %w", err)
		}
		ranges = append(ranges, n)
	}
	return ranges, nil
}
