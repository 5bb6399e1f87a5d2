package cri

import (
	"strconv"
	"strings"
)

// imageVolumesSince is the release of each runtime that can mount images; one
// that is not here is taken to be able to.
var imageVolumesSince = map[string][2]int{"containerd": {2, 1}, "cri-o": {1, 31}}

// ImageVolumes reports whether the runtime is known to mount images as volumes.
// It has to be asked by version: the CRI does not tell, and an older runtime
// reads such a mount as one of an empty host path.
func (v Version) ImageVolumes() bool { return v.since(imageVolumesSince) }

// since reports whether the runtime is of the release that is given for it or a
// later one, or none is given.
func (v Version) since(releases map[string][2]int) bool {
	first, ok := releases[v.Name]
	if !ok {
		return true
	}
	major, minor, ok := v.release()
	return ok && (major > first[0] || major == first[0] && minor >= first[1])
}

// release is the first two numbers of the version.
func (v Version) release() (major, minor int, ok bool) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(v.Version, "v"), ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(second)
	return major, minor, err == nil
}
