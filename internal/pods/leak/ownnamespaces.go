package leak

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
)

// isRuntimes reports whether the runtime made a namespace: it has the directory to itself, or it is
// CRI-O, which gives every sandbox a UTS namespace of the same name.
func (f Facts) isRuntimes(namespace Thing) bool {
	netns := f.Runtime.netns(namespace)
	return f.Runtime.ownsNamespace(netns) || f.Runtime.ExitDir != "" && slices.ContainsFunc(f.Things, func(t Thing) bool {
		return t.Kind == UTSNamespace && f.Runtime.netns(t) == netns
	})
}

// hasUnclaimedNamespaces reports whether there are namespaces of the runtime's of which only the
// runtime knows whether a sandbox has them: the CNI cache does not name it.
func (f Facts) hasUnclaimedNamespaces() bool {
	claimed := map[string]bool{}
	for _, t := range f.Traces {
		claimed[t.NetworkNamespace] = true
	}
	return slices.ContainsFunc(f.Things, func(t Thing) bool {
		return namespaceTypes[t.Kind] != "" && !claimed[f.Runtime.netns(t)] && f.isRuntimes(t)
	})
}

// claimByAddress adds to the traces which sandbox has a network namespace, if that has the address
// for which the sandbox has a lease: the CNI cache does not say it of a sandbox whose runtime was killed
// while its network was made. Nothing is added of what a listed sandbox has or may have, nor
// where two sandboxes may be meant.
func (j *judge) claimByAddress() {
	j.Traces = maps.Clone(j.Traces)
	for _, path := range slices.Sorted(maps.Keys(j.Addresses)) {
		if j.ListedNamespaces == nil || j.ListedNamespaces[path] {
			continue
		}
		ids := map[string]bool{}
		for _, t := range j.Things {
			if t.Kind == Lease && slices.Contains(j.Addresses[path], t.Address) && slices.Contains(j.Runtime.Networks, filepath.Dir(t.Path)) {
				ids[t.ID] = true
			}
		}
		for id := range ids {
			if t := j.Traces[id]; len(ids) == 1 && !j.Listed[id] && containerID.FindString(id) == id && t.NetworkNamespace == "" {
				j.Traces[id] = t.merge(Trace{NetworkNamespace: path})
			}
		}
	}
}

// assignNamespace returns a namespace with the id of the sandbox that has it, and where its group is if
// that is not known; ok is false for one that is not judged.
func (j *judge) assignNamespace(t Thing) (_ Thing, netns string, ok bool) {
	netns = j.Runtime.netns(t)
	owners := j.owners[netns]
	switch {
	case slices.ContainsFunc(owners, func(id string) bool { return j.Listed[id] }):
		return t, "", false
	case len(owners) > 0:
		t.ID = owners[0]
	case t.ID != "":
	case !j.isRuntimes(t), j.ListedNamespaces[netns]:
		return t, "", false // another program's: ip netns add
	}
	return t, cmp.Or(t.ID, netns), true
}

// namespaceEvidence is why a group with a namespace is known to be this runtime's, "" if it is not.
func (j *judge) namespaceEvidence(things []Thing) string {
	i := slices.IndexFunc(things, func(t Thing) bool { return namespaceTypes[t.Kind] != "" && j.isRuntimes(t) })
	switch {
	case i < 0 || j.ListedNamespaces == nil || j.ListedNamespaces[j.Runtime.netns(things[i])]:
		return ""
	case j.Runtime.ownsNamespace(j.Runtime.netns(things[i])):
		return filepath.Dir(things[i].Path) + " is this runtime's, and no sandbox has it"
	case j.Other == "" && !j.occupied(things):
		return "CRI-O pinned it, no sandbox has it, and no other runtime is seen on this host"
	}
	return ""
}
