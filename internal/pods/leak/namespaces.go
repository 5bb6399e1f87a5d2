package leak

import (
	"errors"
	"io/fs"
	"net/netip"
	"path/filepath"
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
