package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/sys/proc"
)

// sysResource is CAP_SYS_RESOURCE.
const sysResource = 24

// serverOf looks at the process that serves the endpoint.
func serverOf(endpoint cri.Endpoint) Server {
	s := cri.ServerOf(endpoint)
	if s.PID == 0 {
		return Server{}
	}
	if same, err := proc.Default.SamePIDNamespace(s.PID); err != nil || !same {
		return Server{}
	}
	p, err := proc.Default.Read(s.PID)
	if err != nil {
		return Server{}
	}
	return Server{PID: s.PID, CanRaise: p.Capabilities.Has(sysResource)}
}

// readHost reads what is known of the machine, on which the runtime's process has
// the PID server, 0 if that is not known.
func readHost(server int) Host {
	h := Host{UserNamespaces: -1}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		h.Err = fmt.Errorf("read kernel release: %w", err)
		return h
	}
	h.Kernel = unix.ByteSliceToString(name.Release[:])
	h.CgroupVersion = cgroupVersion()
	h.Systemd = proc.Default.Comm(1) == "systemd"
	if n, err := readNumber("/proc/sys/user/max_user_namespaces"); err == nil {
		h.UserNamespaces = n
	}
	n, err := readNumber("/proc/sys/net/ipv4/ip_forward")
	h.Forwards = err != nil || n != 0
	shared, err := sharedRoot(server)
	h.SharedRoot, h.Err = shared, err
	return h
}

// sharedRoot reports whether mounts below the root directory propagate: as the
// runtime sees it, if its process is visible. In a container the host's root
// directory is never shared.
func sharedRoot(server int) (shared bool, err error) {
	root := func(i *mountinfo.Info) (skip, stop bool) { return i.Mountpoint != "/", false }
	var mounts []*mountinfo.Info
	if table, tableErr := proc.Default.MountTable(server); server != 0 && tableErr == nil {
		mounts, err = mountinfo.GetMountsFromReader(strings.NewReader(table), root)
	} else {
		mounts, err = mountinfo.GetMounts(root)
	}
	for _, m := range mounts { // the last one is on top
		shared = strings.Contains(m.Optional, "shared:")
	}
	return shared, err
}

func cgroupVersion() int {
	const root = "/sys/fs/cgroup"
	var fs unix.Statfs_t
	if unix.Statfs(root, &fs) != nil {
		return 0
	}
	if fs.Type == unix.CGROUP2_SUPER_MAGIC {
		return 2
	}
	if entries, err := os.ReadDir(root); err == nil && len(entries) > 0 {
		return 1
	}
	return 0
}

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// readDisk reads the file system of a directory, or of the nearest one above it that
// exists.
func readDisk(d Disk) Disk {
	var fs unix.Statfs_t
	path := d.Path
	for d.Err = unix.Statfs(path, &fs); errors.Is(d.Err, unix.ENOENT) && path != "/"; d.Err = unix.Statfs(path, &fs) {
		path = filepath.Dir(path)
	}
	size := uint64(fs.Bsize) //nolint:unconvert // the types differ between systems
	d.Size, d.Free = fs.Blocks*size, fs.Bavail*size
	d.Inodes, d.FreeInodes = fs.Files, fs.Ffree
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil {
		d.Device = uint64(st.Dev) //nolint:unconvert // narrower on other architectures
	}
	return d
}
