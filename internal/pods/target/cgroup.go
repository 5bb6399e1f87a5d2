package target

import (
	"strings"

	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/sys/hint"
)

// OfCgroup returns the pod of a cgroup, and the container if it is one's.
func OfCgroup(all []*inventory.Pod, path string) (Target, error) {
	if t, found := inCgroup(all, path); found {
		return t, nil
	}
	return Target{}, hint.Errorf("podctl pods lists the pods of the runtime; -r names another one", "cgroup %s is of no pod of this runtime", path)
}

// inCgroup returns what has a cgroup by its path, whose parts are, for instance,
//
//	kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<UID>.slice/cri-containerd-<ID>.scope
//	kubepods/burstable/pod<UID>/crio-<ID>
//
// The outermost part decides, since a container may make cgroups of any name below its
// own. UIDs may be of several pods, one of which a part below names by an id.
func inCgroup(all []*inventory.Pod, path string) (Target, bool) {
	var ofUID []*inventory.Pod
	for part := range strings.SplitSeq(path, "/") {
		if len(ofUID) > 0 {
			if t, found := idIn(ofUID, part); found {
				return t, true
			}
			continue
		}
		if t, found := idIn(all, part); found {
			return t, true
		}
		for _, p := range all {
			if isPodCgroup(part, string(p.GivenUID())) {
				ofUID = append(ofUID, p)
			}
		}
	}
	if len(ofUID) != 1 {
		return Target{}, false
	}
	return Target{Pod: ofUID[0]}, true
}

// idIn returns the container or sandbox whose id a part of a path is, or ends with after the
// name of the runtime.
func idIn(pods []*inventory.Pod, part string) (Target, bool) {
	id := strings.TrimSuffix(part, ".scope")
	if t, found := withID(pods, id); found {
		return t, true
	}
	return withID(pods, id[strings.LastIndexAny(id, "-:")+1:])
}

// isPodCgroup reports whether a part of a path is the cgroup of the pod of a UID, by the
// cgroup driver cgroupfs or systemd, which has no dashes in names.
func isPodCgroup(part, uid string) bool {
	if uid == "" {
		return false
	}
	slice, isSlice := strings.CutSuffix(part, ".slice")
	return part == "pod"+uid || isSlice && strings.HasSuffix(slice, "-pod"+strings.ReplaceAll(uid, "-", "_"))
}
