package leak

import (
	"fmt"
	"os"
	"slices"

	"github.com/podctl/podctl/internal/cri"
)

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
