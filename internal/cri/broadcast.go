package cri

import (
	"strconv"
	"strings"
)

// BroadcastsEvents reports whether the runtime is known to give each of its
// events to every subscriber. containerd before 2.0 is not one of these: there
// a second subscriber takes the first one's events.
func (v Version) BroadcastsEvents() bool {
	if v.Name != "containerd" {
		return true
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(v.Version, "v"), ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 2
}

// String is "containerd 2.4.2".
func (v Version) String() string { return strings.TrimSpace(v.Name + " " + v.Version) }
