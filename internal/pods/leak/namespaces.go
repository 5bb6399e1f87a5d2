package leak

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/podctl/podctl/internal/sys/proc"
)

// namespaceTypes are the names in /proc/PID/ns by kind. CRI-O pins the namespaces of a sandbox by
// one name in directories beside each other: netns/NAME, ipcns/NAME, utsns/NAME, userns/NAME.
var namespaceTypes = map[Kind]string{NetworkNamespace: "net", IPCNamespace: "ipc", UTSNamespace: "uts", UserNamespace: "user"}

// maxEntered bounds the network namespaces of which the addresses are read.
const maxEntered = 1024

// Address is one of an interface.
type Address struct {
	Interface string
	IP        netip.Addr
}

// dirOf is where the runtime has its namespaces of a kind, "" if it has none.
func (r Runtime) dirOf(k Kind) string {
	switch {
	case k == NetworkNamespace:
		return r.NamespaceDir
	case r.ExitDir == "" || namespaceTypes[k] == "":
		return ""
	}
	return filepath.Join(filepath.Dir(r.NamespaceDir), namespaceTypes[k]+"ns")
}

// netns is the path of the network namespace of the sandbox that has a namespace.
func (r Runtime) netns(t Thing) string { return filepath.Join(r.NamespaceDir, filepath.Base(t.Path)) }

// namespaceAt is the kind of the namespace that is mounted in one of the runtime's directories, ""
// for any other mount.
func (r Runtime) namespaceAt(m *mountinfo.Info) Kind {
	for kind, ns := range namespaceTypes {
		if m.FSType == "nsfs" && filepath.Dir(m.Mountpoint) == r.dirOf(kind) && strings.HasPrefix(m.Root, ns+":") {
			return kind
		}
	}
	return ""
}

// readNamespaces finds the namespaces in the runtime's directories.
func (s *scan) readNamespaces() {
	present := s.host.occupants()
	for _, m := range s.mounts {
		kind := s.Runtime.namespaceAt(m)
		if kind == "" {
			continue
		}
		switch pid, unread := present.in(m.Root); {
		case pid != 0:
			s.Occupants[m.Mountpoint] = "process " + strconv.Itoa(pid)
		case unread != nil:
			s.Occupants[m.Mountpoint] = unread.Error()
		}
		t := Thing{Kind: kind, ID: s.inNamespace(m.Root), Path: m.Mountpoint, Since: modTime(s.path(m.Mountpoint))}
		s.add(t)
		if kind == NetworkNamespace && t.ID == "" && !s.isClaimed(t.Path) {
			s.readAddresses(m)
		}
	}
}

// isClaimed reports whether the CNI cache, or a plugin that works, names the sandbox of a network
// namespace.
func (s *scan) isClaimed(path string) bool {
	for _, t := range s.Traces {
		if t.NetworkNamespace == path {
			return true
		}
	}
	return false
}

// readAddresses reads which addresses a network namespace has, so that its sandbox can be known by
// the leases of them.
func (s *scan) readAddresses(m *mountinfo.Info) {
	if len(s.Addresses) == maxEntered {
		s.unread("there are more than %d network namespaces of unknown sandboxes", maxEntered)
		return
	}
	addresses, err := s.host.Addresses(m.Mountpoint, m.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.unread("the addresses of %s cannot be read: %v", m.Mountpoint, err)
	}
	s.Addresses[m.Mountpoint] = addresses
}

// inNamespace returns the id of a container with a process in a namespace, such as
// net:[4026532178], "" if none is found.
func (s *scan) inNamespace(namespace string) string {
	kind, _, _ := strings.Cut(namespace, ":")
	for _, t := range s.Things {
		if t.Kind != Process {
			continue
		}
		if ns, err := s.host.Procs.Namespace(t.PID, kind); err == nil && ns == namespace {
			return t.ID
		}
	}
	return ""
}

// occupants are the processes of the host by namespace.
type occupants struct {
	// by has a process of each namespace, such as net:[4026531840]. Those of the host itself are not
	// in it: a pod of the host's network has a name for it that keeps nothing.
	by map[string]int
	// unread is why there may be another one in any of them.
	unread error
}

// in returns a process that is in a namespace, 0 if there is none; unread is why there may be one.
func (o occupants) in(namespace string) (pid int, unread error) { return o.by[namespace], o.unread }

func (h Host) occupants() occupants {
	pids, err := h.Procs.PIDs()
	if err != nil {
		return occupants{unread: err}
	}
	o := occupants{by: map[string]int{}}
	for _, pid := range pids {
		for _, kind := range namespaceTypes {
			ns, err := h.Procs.Namespace(pid, kind)
			switch {
			case err == nil:
				o.by[ns] = pid
			case pid == 1 && errors.Is(err, fs.ErrPermission): // init, which may have more rights, is in no pod's
			case !errors.Is(err, proc.ErrGone):
				o.unread = err
			}
		}
	}
	for _, kind := range namespaceTypes {
		if ns, err := h.Procs.Namespace(1, kind); err == nil {
			delete(o.by, ns)
		}
	}
	return o
}

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
			if t := j.Traces[id]; len(ids) == 1 && !j.Listed[id] && containerID().FindString(id) == id && t.NetworkNamespace == "" {
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
