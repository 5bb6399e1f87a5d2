package target

import (
	"maps"
	"path"
	"strings"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// podCgroups are the cgroups of pods by path: those that hold a container of the pod. The UID in the name
// of a cgroup is no proof: another runtime may have a pod of the same manifest, and a container names
// cgroups below its own as it likes.
type podCgroups map[string]*view.Pod

// podCgroupsOf returns the cgroups of the pods in a tree.
func podCgroupsOf(all []*view.Pod, tree *cgroup.Tree) podCgroups {
	groups := podCgroups{}
	for _, p := range all {
		for id := range p.Runtime.IDs() {
			group := path.Dir(tree.Container(id))
			if !tree.IsPod(group, p.GivenUID()) {
				continue // the parent of several pods
			}
			if other, taken := groups[group]; taken && other != p {
				groups[group] = nil // of two pods of one UID
				continue
			}
			groups[group] = p
		}
	}
	maps.DeleteFunc(groups, func(_ string, p *view.Pod) bool { return p == nil })
	return groups
}

// findByCgroup returns the pod of a cgroup, and the container if it is one's.
func findByCgroup(all []*view.Pod, groups podCgroups, name string) (Target, error) {
	below, isFile := strings.CutPrefix(name, cgroup.Mounts)
	names := []string{below}
	if _, hierarchy, v1 := strings.Cut(strings.TrimPrefix(below, "/"), "/"); isFile && v1 {
		names = append(names, "/"+hierarchy)
	}
	for _, name := range names {
		if t, found := inCgroup(all, groups, name); found {
			return t, nil
		}
	}
	return Target{}, hint.Errorf("podctl pods lists the pods of the runtime; -r names another one", "cgroup %s is of no pod of this runtime", name)
}

// inCgroup returns what has a cgroup by its path, whose parts are, for instance,
//
//	kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<UID>.slice/cri-containerd-<ID>.scope
//	kubepods/burstable/pod<UID>/crio-<ID>
//
// The outermost id decides, since a container may make cgroups of any name below its own: one that
// the runtime does not have is of another runtime's container. A path without an id is of the pod
// whose cgroup it is in.
func inCgroup(all []*view.Pod, groups podCgroups, name string) (Target, bool) {
	var pod *view.Pod
	at := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "/"), "/") {
		if t, found := idIn(all, part); found {
			return t, true
		}
		if cgroup.IsContainer(part) {
			return Target{}, false
		}
		if at += "/" + part; pod == nil {
			pod = groups[at]
		}
	}
	return Target{Pod: pod}, pod != nil
}

// idIn returns the container or sandbox whose id a part of a path is, or ends with after the
// name of the runtime.
func idIn(pods []*view.Pod, part string) (Target, bool) {
	id := strings.TrimSuffix(part, ".scope")
	if t, found := withID(pods, id); found {
		return t, true
	}
	return withID(pods, id[strings.LastIndexAny(id, "-:")+1:])
}
