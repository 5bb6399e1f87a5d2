package view

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/sys/proc"
)

// TakenPort is a port of the host that the spec asks for, on which a process listens that is none of the
// pod's.
type TakenPort struct {
	Container string `json:"container"`         // that asks for the port
	Port      int32  `json:"port"`              // of the host
	Protocol  string `json:"protocol"`          // TCP, UDP
	PID       int    `json:"pid,omitempty"`     // of the process; missing if it cannot be seen
	Process   string `json:"process,omitempty"` // its name, which it chooses
}

// hostPorts returns the ports of the host that a spec asks for, without a process.
func hostPorts(spec *v1.PodSpec) []TakenPort {
	var all []TakenPort
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, p := range c.Ports {
			port, protocol := p.HostPort, cmp.Or(p.Protocol, v1.ProtocolTCP)
			if spec.HostNetwork {
				port = cmp.Or(port, p.ContainerPort)
			}
			if port != 0 && protocol != v1.ProtocolSCTP {
				all = append(all, TakenPort{Container: c.Name, Port: port, Protocol: string(protocol)})
			}
		}
	}
	return all
}

// readTakenPorts adds the host ports of the pod on which foreign processes listen. The runtime is none: it may
// hold the ports of its pods.
func (r *Reader) readTakenPorts(p *Pod) {
	if p.Object == nil || !r.SeesProcesses() {
		return
	}
	wanted := hostPorts(&p.Object.Spec)
	if len(wanted) == 0 {
		return
	}
	of := func(l proc.Listener) int {
		return slices.IndexFunc(wanted, func(w TakenPort) bool { return w.Port == int32(l.Port) && w.Protocol == l.Protocol })
	}
	holders, err := r.Procs.Holders(r.Server.PID, func(l proc.Listener) bool { return of(l) >= 0 })
	if err != nil {
		return
	}
	seen := map[uint32]bool{} // a socket is the first one's that has it
	for _, h := range holders {
		if seen[h.Inode] {
			continue
		}
		if seen[h.Inode] = true; h.PID == r.Server.PID || r.isProcessOf(p, h.PID) {
			continue
		}
		taken := wanted[of(h.Listener)]
		if process, err := r.Procs.Read(h.PID); err == nil {
			taken.PID, taken.Process = h.PID, process.Comm
			p.TakenPorts = append(p.TakenPorts, taken)
		}
	}
	slices.SortFunc(p.TakenPorts, func(a, b TakenPort) int { return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.PID, b.PID)) })
}

// isProcessOf reports whether a process is in a cgroup of the pod or of a container of it.
func (r *Reader) isProcessOf(p *Pod, pid int) bool {
	groups, err := r.Procs.Cgroups(pid)
	uid := string(p.GivenUID())
	return err != nil || slices.ContainsFunc(groups, func(g proc.Cgroup) bool {
		return uid != "" && (strings.Contains(g.Path, uid) || strings.Contains(g.Path, strings.ReplaceAll(uid, "-", "_"))) ||
			slices.ContainsFunc(p.Containers, func(c Container) bool { return c.ID != "" && strings.Contains(g.Path, c.ID) })
	})
}
