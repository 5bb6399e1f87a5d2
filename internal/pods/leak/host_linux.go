package leak

import (
	"os"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/sys/proc"
)

// DefaultHost returns the host on which podctl runs.
func DefaultHost() Host {
	return Host{Root: "/", Cgroups: cgroup.Mounts, Procs: proc.Default, Addresses: addressesIn, Mounts: func() ([]*mountinfo.Info, error) {
		table, err := proc.Default.MountTable(os.Getpid())
		if err != nil {
			return nil, err
		}
		return mountinfo.GetMountsFromReader(strings.NewReader(table), nil)
	}}
}

// whyBlind is why podctl does not see the host as the process that serves the runtime's socket
// does, "" if it does; pid is that process.
func (h Host) whyBlind(endpoint cri.Endpoint) (pid int, why string) {
	if os.Geteuid() != 0 {
		return 0, "podctl is not run as root"
	}
	pid = cri.ServerOf(endpoint).PID
	if pid == 0 {
		return 0, "the runtime's process is not visible"
	}
	for _, kind := range []string{"pid", "mnt", "cgroup"} {
		theirs, err := h.Procs.Namespace(pid, kind)
		ours, ownErr := h.Procs.Namespace(os.Getpid(), kind)
		if err != nil || ownErr != nil || theirs != ours {
			return pid, "podctl runs in another " + kind + " namespace than the runtime"
		}
	}
	if same, err := h.Procs.SameRoot(pid, os.Getpid()); err != nil || !same {
		return pid, "podctl has another root directory than the runtime"
	}
	return pid, ""
}
