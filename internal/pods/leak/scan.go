package leak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/moby/sys/mountinfo"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/sys/proc"
)

// maxUnread is how many reasons are kept why something could not be read.
const maxUnread = 8

// Scan is what one look at the host has found.
type Scan struct {
	Runtime Runtime
	// Things are of containers and sandboxes that were not listed before the scan, and of
	// pods.
	Things []Thing
	// Traces are by id, also of listed sandboxes.
	Traces map[string]Trace
	// Other is why another container runtime may be on this host, "" if none is seen.
	Other string
	// Occupants are processes in the namespaces and the cgroups of pods among the things, by
	// path.
	Occupants map[string]string
	// Addresses are those in the network namespaces among the things of which nothing else tells
	// the sandbox, by path.
	Addresses map[string][]Address
	// Unread is what could not be read.
	Unread []string
}

// Host is where the host's files are. Tests use directories of files.
type Host struct {
	// Root is the root directory, Cgroups where the hierarchies of cgroups are mounted.
	Root, Cgroups string
	Procs         proc.FS
	// Mounts reads the mounts of podctl's own mount namespace.
	Mounts func() ([]*mountinfo.Info, error)
	// Addresses reads the addresses in the network namespace that is mounted at a path, without that of
	// the loopback interface. ns is the namespace that it has to be, such as net:[4026532178].
	Addresses func(path, ns string) ([]Address, error)
}

// scan is a look under way.
type scan struct {
	Scan
	host   Host
	listed map[string]bool
	mounts []*mountinfo.Info
	// shims are the ids of this runtime's shims by PID, foreignShims the PIDs of all others.
	shims        map[int]string
	foreignShims map[int]bool
	// bundles are those of CRI-O's containers and sandboxes that are not listed, by id; storage are the
	// directories that have them.
	bundles map[string]bundle
	storage map[string]bool
	// networks are the directories of the addresses of networks, also of those of other runtimes;
	// leases is how many addresses were read.
	networks []string
	leases   int
}

// bundle is the directory and the root file system of a container of CRI-O's.
type bundle struct{ dir, root string }

// Look scans the host for what belongs to no listed id.
func (h Host) Look(r Runtime, listed map[string]bool) Scan {
	s := scan{
		Scan: Scan{Runtime: r, Traces: map[string]Trace{}, Occupants: map[string]string{}, Addresses: map[string][]Address{}}, host: h, listed: listed,
		bundles: map[string]bundle{}, storage: map[string]bool{}, shims: map[int]string{}, foreignShims: map[int]bool{},
	}
	s.Runtime.Networks = slices.Clone(r.Networks) // the CNI cache may show more
	var err error
	if s.mounts, err = h.Mounts(); err != nil {
		s.unread("mounts cannot be read: %v", err)
	}
	s.readProcesses()
	s.readBundles()
	s.readCgroups()
	s.readMounts()
	s.readCache()
	s.readNamespaces()
	s.readLeases()
	return s.Scan
}

func (s *scan) path(name string) string { return filepath.Join(s.host.Root, name) }

func (s *scan) add(t Thing) { s.Things = append(s.Things, t) }

func (s *scan) trace(id string, t Trace) { s.Traces[id] = s.Traces[id].merge(t) }

func (s *scan) unread(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(s.Unread) < maxUnread && !slices.Contains(s.Unread, text) {
		s.Unread = append(s.Unread, text)
	}
}

func (s *scan) cannotRead(path string, err error) { s.unread("%s cannot be read: %v", path, err) }

// hostPIDNamespace is the first PID namespace, to which the kernel gives this number.
const hostPIDNamespace = "pid:[4026531836]"

var (
	// supervisors are programs that start containerd as a child, runtimes those that have
	// containers of their own.
	supervisors = []string{"k3s", "k3s-server", "k3s-agent", "rke2", "k0s"}
	runtimes    = append([]string{"containerd", "crio", "dockerd", "cri-dockerd", "podman", "nerdctl", "buildkitd", "isulad", "pouchd"}, supervisors...)
)

// maxAncestors bounds how far the ancestors of a process are followed.
const maxAncestors = 64

// noteOtherRuntime notes why another container runtime may be on this host. The first reason is kept.
func (s *scan) noteOtherRuntime(format string, args ...any) {
	if s.Other == "" {
		s.Other = fmt.Sprintf(format, args...)
	}
}

// findOtherSockets looks for what hides other runtimes, and for the sockets of those that are
// stopped.
func (s *scan) findOtherSockets() {
	if ns, err := s.host.Procs.Namespace(os.Getpid(), "pid"); err != nil || ns != hostPIDNamespace {
		s.noteOtherRuntime("podctl does not see the processes of the host's PID namespace")
	}
	for _, socket := range cri.WellKnownSockets {
		if _, err := os.Stat(s.path(socket)); err == nil && !s.sameSocket(socket) {
			s.noteOtherRuntime("socket %s", socket)
		}
	}
}

// supervisorsOf returns the ancestors of the runtime's process that have started it: k3s starts
// its containerd.
func (s *scan) supervisorsOf(pid int) (found []int) {
	for range maxAncestors {
		p, err := s.host.Procs.Read(pid)
		if err != nil || p.Parent == 0 {
			break
		}
		pid = p.Parent
		if slices.Contains(supervisors, s.host.Procs.Comm(pid)) {
			found = append(found, pid)
		}
	}
	return found
}
