package leak

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/sys/netns"
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

// addressesIn enters the network namespace at a path to read its addresses.
func addressesIn(path, ns string) (addresses []Address, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	var st unix.Stat_t
	var where unix.Statfs_t
	if err := errors.Join(unix.Fstat(int(f.Fd()), &st), unix.Fstatfs(int(f.Fd()), &where)); err != nil {
		return nil, err
	}
	if where.Type != unix.NSFS_MAGIC || fmt.Sprintf("net:[%d]", st.Ino) != ns {
		return nil, errChanged
	}
	err = netns.Do(f, func() (err error) {
		addresses, err = ownAddresses()
		return err
	})
	return addresses, err
}

// ownAddresses are those of the network namespace of this thread.
func ownAddresses() (found []Address, err error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				found = append(found, Address{i.Name, prefix.Addr()})
			}
		}
	}
	return found, nil
}
