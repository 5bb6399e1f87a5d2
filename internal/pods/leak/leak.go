package leak

import (
	"cmp"
	"github.com/podctl/podctl/internal/pod"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Kind is what a thing is.
type Kind string

// The kinds, in the order in which they are removed.
const (
	// Process: a process in the cgroup of a container.
	Process Kind = "process"
	// Shim: the process that keeps containers: containerd's shim, CRI-O's conmon.
	Shim Kind = "shim"
	// Mount: a mount of a container's or sandbox's.
	Mount Kind = "mount"
	// NetworkNamespace: one with a name in the file system, as the others: CRI-O has those.
	NetworkNamespace Kind = "network namespace"
	IPCNamespace     Kind = "IPC namespace"
	UTSNamespace     Kind = "UTS namespace"
	UserNamespace    Kind = "user namespace"
	// Lease: an address that host-local holds.
	Lease Kind = "address"
	// Cgroup: a cgroup of a container or pod.
	Cgroup Kind = "cgroup"
)

// Plural returns the kind's name for several things.
func (k Kind) Plural() string {
	if strings.HasSuffix(string(k), "s") {
		return string(k) + "es"
	}
	return string(k) + "s"
}

// Kinds returns all kinds, in the order in which they are removed.
func Kinds() []Kind {
	return []Kind{Process, Shim, Mount, NetworkNamespace, IPCNamespace, UTSNamespace, UserNamespace, Lease, Cgroup}
}

// Thing is one thing on the host.
type Thing struct {
	Kind Kind
	// ID is of the container or sandbox that it was made for, "" if that is not known.
	ID string
	// Pod is the UID of the pod whose own cgroup it is, "" for anything else.
	Pod types.UID
	// Path is of the mount, namespace or lease; of a process and a cgroup, its name below the
	// hierarchies.
	Path string
	// PID and Start identify a process; Name is its name, or the address of a lease with its
	// network.
	PID   int
	Start uint64
	Name  string
	// Address is that of a lease, and the interface for which it was taken.
	Address Address
	// Since is when it was made, zero if that is not known.
	Since time.Time
}

// same reports whether two looks saw one thing.
func (t Thing) same(other Thing) bool {
	t.Since, other.Since = time.Time{}, time.Time{}
	t.Name, other.Name = "", ""
	return t == other
}

// Trace is what the host tells about a container or sandbox beside the things of it.
type Trace struct {
	// Sandbox is that of a container, "" if it is not known or the id is a sandbox's.
	Sandbox string
	Pod     pod.Identity
	// CRI: it was created through the CRI, as far as can be seen. The namespace k8s.io of
	// containerd may have others: nerdctl -n k8s.io.
	CRI bool
	// Runtime is the evidence that this runtime has it: "its shim serves SOCKET".
	Runtime string
	// NetworkNamespace and CgroupParent are those that the CNI cache names.
	NetworkNamespace, CgroupParent string
	// Busy is the program that works on it now, "" if none does.
	Busy string
	// Foreign: another runtime's shim has it.
	Foreign bool
}

// merge completes a trace by another one of the same id.
func (t Trace) merge(other Trace) Trace {
	t.Sandbox = cmp.Or(t.Sandbox, other.Sandbox)
	t.Pod.Name, t.Pod.Namespace = cmp.Or(t.Pod.Name, other.Pod.Name), cmp.Or(t.Pod.Namespace, other.Pod.Namespace)
	t.Pod.UID = cmp.Or(t.Pod.UID, other.Pod.UID)
	t.CRI = t.CRI || other.CRI
	t.Runtime = cmp.Or(t.Runtime, other.Runtime)
	t.NetworkNamespace = cmp.Or(t.NetworkNamespace, other.NetworkNamespace)
	t.CgroupParent = cmp.Or(t.CgroupParent, other.CgroupParent)
	t.Busy = cmp.Or(t.Busy, other.Busy)
	t.Foreign = t.Foreign || other.Foreign
	return t
}

// Leak is what one sandbox left, or a pod of which only the cgroup is left.
type Leak struct {
	// ID is the sandbox's, or that of a container of which the sandbox is not known, or the
	// pod's UID. It is the path of a namespace of which nothing else is known.
	ID  string
	Pod pod.Identity
	// Evidence is why it is known to be this runtime's. Assumed: it is only likely to be, and is
	// never removed.
	Evidence string
	Assumed  bool
	// Things are in the order in which they are removed.
	Things []Thing
}

// Since returns the time at which its oldest thing was made, zero if that is not known.
func (l Leak) Since() time.Time {
	var oldest time.Time
	for _, t := range l.Things {
		if oldest.IsZero() || !t.Since.IsZero() && t.Since.Before(oldest) {
			oldest = t.Since
		}
	}
	return oldest
}

// Of returns its things of a kind.
func (l Leak) Of(kind Kind) []Thing {
	return slices.DeleteFunc(slices.Clone(l.Things), func(t Thing) bool { return t.Kind != kind })
}

// Findings are the result of a look.
type Findings struct {
	Leaks []Leak
	// Unlisted are things of no listed container that another runtime may have. Other is why
	// there may be one, "" if none is seen.
	Unlisted []Thing
	Other    string
	// Unread is what of the host could not be read, so that there may be more. Examined is
	// false if nothing was looked at.
	Unread   []string
	Examined bool
}

func sortThings(things []Thing) {
	kinds := Kinds()
	slices.SortFunc(things, func(a, b Thing) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
			// A mount below another one goes first, and so does a cgroup.
			-strings.Compare(a.Path, b.Path), cmp.Compare(a.PID, b.PID))
	})
}
