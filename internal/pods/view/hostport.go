package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
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

// TakenPorts returns those of the pods that have not ended and ask for a host port on which a foreign process
// listens. It reads their specs.
func (r *Reader) TakenPorts(ctx context.Context, pods []*Pod) []*Pod {
	read := make([]*Pod, len(pods))
	_ = cri.ReadEach(ctx, len(pods), func(ctx context.Context, i int) error {
		s := &Sources{Pod: pods[i].seen()}
		if s.hasEnded() {
			return nil
		}
		read[i] = s.Pod
		return r.readObject(ctx, s, s.Object)
	})
	read = slices.DeleteFunc(read, func(p *Pod) bool { return p == nil || p.Object == nil })
	r.readTakenPorts(read...)
	return slices.DeleteFunc(read, func(p *Pod) bool { return len(p.TakenPorts) == 0 })
}

// hasEnded reports whether the pod has ended and does not start again by itself.
func (p *Pod) hasEnded() bool {
	phase := v1.PodPhase(p.ListedPhase())
	return pod.IsTerminal(phase) || phase == pod.PhaseExited || p.Worker.Stopped
}

// readTakenPorts adds the host ports of the pods on which foreign processes listen. The runtime is none: it may
// hold the ports of its pods.
func (r *Reader) readTakenPorts(pods ...*Pod) {
	type port struct {
		number   int32
		protocol string
	}
	wanted := map[port]map[*Pod]TakenPort{}
	for _, p := range pods {
		if p.Object == nil {
			continue
		}
		for _, w := range hostPorts(&p.Object.Spec) {
			at := port{w.Port, w.Protocol}
			if wanted[at] == nil {
				wanted[at] = map[*Pod]TakenPort{}
			}
			if _, known := wanted[at][p]; !known {
				wanted[at][p] = w
			}
		}
	}
	if len(wanted) == 0 || !r.SeesProcesses() {
		return
	}
	of := func(l proc.Listener) map[*Pod]TakenPort { return wanted[port{int32(l.Port), l.Protocol}] }
	holders, err := r.Procs.Holders(r.Server.PID, func(l proc.Listener) bool { return of(l) != nil })
	if err != nil {
		return
	}
	seen := map[uint32]bool{} // a socket is the first one's that has it
	for _, h := range holders {
		if seen[h.Inode] {
			continue
		}
		if seen[h.Inode] = true; h.PID == r.Server.PID {
			continue
		}
		process, err := r.Procs.Read(h.PID)
		if err != nil {
			continue
		}
		for p, taken := range of(h.Listener) {
			if !r.isProcessOf(p, h.PID) {
				taken.PID, taken.Process = h.PID, process.Comm
				p.TakenPorts = append(p.TakenPorts, taken)
			}
		}
	}
	for _, p := range pods {
		slices.SortFunc(p.TakenPorts, func(a, b TakenPort) int { return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.PID, b.PID)) })
	}
}

// isProcessOf reports whether a process is in a cgroup of the pod or of a container of it.
func (r *Reader) isProcessOf(p *Pod, pid int) bool {
	groups, err := r.Procs.Cgroups(pid)
	names := slices.AppendSeq([]string{string(p.GivenUID()), strings.ReplaceAll(string(p.GivenUID()), "-", "_")}, maps.Keys(p.Runtime.IDs()))
	return err != nil || slices.ContainsFunc(groups, func(g proc.Cgroup) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.Contains(g.Path, name) })
	})
}
