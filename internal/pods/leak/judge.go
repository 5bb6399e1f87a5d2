package leak

import (
	"cmp"
	"github.com/podctl/podctl/internal/pod"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// creationTime is the minimum age of what is leaked: RunPodSandbox may take four minutes, and the
// runtime another one to clean up after it. Until then the sandbox is not listed.
const creationTime = 6 * time.Minute

// Facts are all that Judge depends on.
type Facts struct {
	Scan
	// Listed are the ids of the sandboxes and containers that the runtime lists, and of the
	// sandboxes of these containers.
	Listed map[string]bool
	// Pods are those that the runtime lists or a podctl process has. PodsUnknown is why there
	// may be more, "" if there are not.
	Pods        map[types.UID]pod.Identity
	PodsUnknown string
	// ListedNamespaces are the network namespaces of the listed sandboxes, and those that would have
	// the name of another namespace of theirs; nil if not known.
	ListedNamespaces map[string]bool
	Now              time.Time
}

// judge is the work of Judge.
type judge struct {
	Facts
	// owners are the ids by the network namespace that the CNI cache names for them.
	owners map[string][]string
	// groups are the things of unlisted ids by sandbox.
	groups map[string][]Thing
}

// Judge finds what has leaked. Pure.
func Judge(f Facts) Findings {
	j := judge{Facts: f, owners: map[string][]string{}, groups: map[string][]Thing{}}
	j.claimByAddress()
	for _, id := range slices.Sorted(maps.Keys(j.Traces)) {
		if ns := j.Traces[id].NetworkNamespace; ns != "" {
			j.owners[ns] = append(j.owners[ns], id)
		}
	}
	var pods []Thing
	for _, t := range f.Things {
		if t.Pod != "" {
			pods = append(pods, t)
			continue
		}
		j.assign(t)
	}
	found := Findings{Examined: true, Unread: slices.Clone(f.Unread), Other: f.Other}
	for _, id := range slices.Sorted(maps.Keys(j.groups)) {
		things := j.groups[id]
		if j.foreign(id, things) || j.inFlight(id, things) {
			continue
		}
		l := Leak{ID: id, Things: things, Evidence: j.evidence(id, things), Pod: j.podOf(id, things)}
		if l.Evidence == "" {
			l.Evidence = j.assumption(id, things)
			l.Assumed = l.Evidence != ""
		}
		if l.Evidence == "" {
			found.Unlisted = append(found.Unlisted, j.unassigned(things)...)
			continue
		}
		found.Leaks = append(found.Leaks, l)
	}
	if f.PodsUnknown == "" {
		found.Leaks = j.addPodCgroups(found.Leaks, pods)
	} else if len(pods) > 0 {
		found.Unread = append(found.Unread, "cgroups of pods are not judged: "+f.PodsUnknown)
	}
	for i, l := range found.Leaks {
		sortThings(l.Things)
		if filepath.IsAbs(l.ID) { // the network namespace itself may be gone
			found.Leaks[i].ID = l.Things[0].Path
		}
	}
	return found
}

// assign adds a thing to the group of its sandbox, unless the runtime lists what has it.
func (j *judge) assign(t Thing) {
	key := cmp.Or(t.ID, t.Path)
	if namespaceTypes[t.Kind] != "" {
		var ok bool
		if t, key, ok = j.assignNamespace(t); !ok {
			return
		}
	}
	if j.Listed[t.ID] {
		return
	}
	if sandbox := j.Traces[t.ID].Sandbox; sandbox != "" && !j.Listed[sandbox] {
		key = sandbox
	}
	j.groups[key] = append(j.groups[key], t)
}

// ids are those of a group: its own and those of its things.
func ids(id string, things []Thing) []string {
	all := []string{id}
	for _, t := range things {
		if t.ID != "" && !slices.Contains(all, t.ID) {
			all = append(all, t.ID)
		}
	}
	return all
}

// foreign reports whether another runtime has a group: by its shim, or by its network
// namespace, where this runtime has all of its own in one directory.
func (j *judge) foreign(id string, things []Thing) bool {
	return slices.ContainsFunc(ids(id, things), func(id string) bool {
		t := j.Traces[id]
		return t.Foreign || j.Runtime.OwnNamespaces && t.NetworkNamespace != "" && !j.Runtime.ownsNamespace(t.NetworkNamespace)
	})
}

// unassigned are the things of a group that is not known to be this runtime's which are worth
// naming: the processes and cgroups below other roots are those of every other runtime.
func (j *judge) unassigned(things []Thing) []Thing {
	return slices.DeleteFunc(things, func(t Thing) bool {
		return t.Kind == Cgroup || t.Kind == Process && !j.Runtime.ownsCgroup(filepath.Dir(t.Path))
	})
}

// inFlight reports whether a sandbox may be being created or removed now, as far as is known.
// The kernel may forget when a cgroup was made: beside other things its age does not count.
func (j *judge) inFlight(id string, things []Thing) bool {
	isCgroup := func(t Thing) bool { return t.Kind == Cgroup }
	dated := slices.DeleteFunc(slices.Clone(things), isCgroup)
	if len(dated) == 0 {
		dated = things
	}
	return slices.ContainsFunc(ids(id, things), func(id string) bool { return j.Traces[id].Busy != "" }) ||
		slices.ContainsFunc(dated, func(t Thing) bool { return !j.old(t) })
}

func (j *judge) old(t Thing) bool { return !t.Since.IsZero() && j.Now.Sub(t.Since) > creationTime }

// evidence is why a group is known to be this runtime's, "" if it is not. Where a process lives, the
// names of cgroups, pods and namespaces are no proof: another runtime may have the same.
func (j *judge) evidence(id string, things []Thing) string {
	occupied := j.occupied(things)
	for _, id := range ids(id, things) {
		t := j.Traces[id]
		switch {
		case t.CRI && t.Runtime != "":
			return t.Runtime
		case occupied:
		case j.Runtime.ownsNamespace(t.NetworkNamespace):
			return "its network namespace is in " + j.Runtime.NamespaceDir
		case !t.CRI:
		case j.Runtime.ownsCgroup(t.CgroupParent):
			return "its cgroup is below " + j.Runtime.CgroupRoot
		case j.Other == "" && t.Pod.UID != "" && t.Pod.Name != "" && j.Pods[t.Pod.UID] == t.Pod:
			return "this runtime has a pod of its UID, and no other runtime is seen on this host"
		case j.Other == "" && j.Runtime.makesNamespace(t.NetworkNamespace):
			return "it was made through the CRI, and no other runtime is seen on this host"
		}
	}
	return j.namespaceEvidence(things)
}

// occupied reports whether a process of a group is alive, or may be: a pod of a containerd that is
// stopped for maintenance has its pause process.
func (j *judge) occupied(things []Thing) bool {
	return slices.ContainsFunc(things, func(t Thing) bool { return t.PID != 0 || j.Occupants[t.Path] != "" })
}

// assumption is why a group is likely to be this runtime's, "" if it is not: addresses in its
// network, of an id of the form of its own of which nothing else is known. A program that does
// not keep the CNI cache may have taken them.
func (j *judge) assumption(id string, things []Thing) string {
	if j.Other != "" || containerID().FindString(id) != id || j.Traces[id] != (Trace{}) {
		return ""
	}
	var network string
	for _, t := range things {
		if network = filepath.Dir(t.Path); t.Kind != Lease || !slices.Contains(j.Runtime.Networks, network) {
			return ""
		}
	}
	return "likely this runtime's, which has the network " + filepath.Base(network) + ": no other runtime is seen on this host"
}

// podOf is the pod of a group, as far as its traces tell.
func (j *judge) podOf(id string, things []Thing) pod.Identity {
	var t Trace
	for _, id := range ids(id, things) {
		t = t.merge(j.Traces[id])
	}
	return t.Pod
}

// addPodCgroups adds the cgroups of pods that nobody has: to what else their pods left, else
// as leaks of their own, where podctl's parent cgroup says whose they are.
func (j *judge) addPodCgroups(leaks []Leak, cgroups []Thing) []Leak {
	for _, c := range cgroups {
		if _, known := j.Pods[c.Pod]; known {
			continue
		}
		if i := j.lastIn(leaks, c); i >= 0 {
			leaks[i].Things = append(leaks[i].Things, c)
			continue
		}
		if j.old(c) && j.Runtime.ownsCgroup(c.Path) && !j.inUse(c) {
			leaks = append(leaks, Leak{ID: string(c.Pod), Pod: pod.Identity{UID: c.Pod}, Evidence: "it is below " + j.Runtime.CgroupRoot, Things: []Thing{c}})
		}
	}
	return leaks
}

// lastIn returns the index of the last leak with a container in a pod's cgroup, -1 if there is
// none: the cgroup of a pod is removed after those of its containers. The UID does not say it:
// another runtime may have a pod of the same manifest.
func (j *judge) lastIn(leaks []Leak, pod Thing) int {
	for i, l := range slices.Backward(leaks) {
		for _, id := range ids(l.ID, l.Things) {
			if j.Traces[id].CgroupParent == pod.Path {
				return i
			}
		}
	}
	return -1
}

// inUse reports whether a process or another cgroup of a container is in a pod's cgroup.
func (j *judge) inUse(pod Thing) bool {
	return j.Occupants[pod.Path] != "" || slices.ContainsFunc(j.Things, func(t Thing) bool {
		return t.Pod == "" && (t.Kind == Cgroup || t.Kind == Process) && strings.HasPrefix(t.Path, pod.Path+"/")
	})
}

// ownsNamespace reports whether a network namespace is in a directory of the runtime's own.
func (r Runtime) ownsNamespace(path string) bool {
	return r.OwnNamespaces && path != "" && filepath.Dir(path) == r.NamespaceDir
}

// makesNamespace reports whether a network namespace that the CNI cache names has the form of the
// runtime's: containerd's are …/cni-UUID, CRI-O's …/UUID in the same directory.
func (r Runtime) makesNamespace(path string) bool {
	return path != "" && filepath.Dir(path) == r.NamespaceDir && strings.HasPrefix(filepath.Base(path), "cni-") == (r.StateDir != "")
}

// ownsCgroup reports whether a cgroup is that of a pod below the root that podctl has for this
// runtime: what is deeper is a container's own.
func (r Runtime) ownsCgroup(path string) bool {
	if r.CgroupRoot == "" {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	slice := strings.ReplaceAll(r.CgroupRoot, "-", "_") + ".slice"
	return (parts[0] == r.CgroupRoot || parts[0] == slice) && (len(parts) == 2 || len(parts) == 3)
}
