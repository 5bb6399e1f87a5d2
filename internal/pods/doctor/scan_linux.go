package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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

// found are the shims and mounts of the runtime.
type found struct {
	shims []Shim
	// mounts are root file systems by the id of their sandbox or container.
	mounts   map[string]string
	examined bool
	// visible: the runtime's processes and mounts are. sameMounts: its mount namespace is
	// podctl's, so that a path that is missing is missing for it, too.
	visible, sameMounts bool
}

// tasks is where containerd mounts root file systems, below its state directory.
const tasks = "io.containerd.runtime.v2.task/k8s.io"

// scan looks for shims and mounts of containerd. Another runtime's cannot be assigned.
func scan(server int, endpoint, stateDir string, now time.Time) found {
	f := found{mounts: map[string]string{}, visible: server != 0 && os.Geteuid() == 0}
	if f.visible {
		theirs, err := proc.Default.Namespace(server, "mnt")
		ours, ownErr := proc.Default.Namespace(os.Getpid(), "mnt")
		f.sameMounts = err == nil && ownErr == nil && theirs == ours
	}
	if !f.visible || stateDir == "" {
		return f
	}
	pids, err := proc.Default.PIDs()
	if err != nil {
		return f
	}
	socket := strings.TrimPrefix(endpoint, "unix://")
	for _, pid := range pids {
		args, err := proc.Default.Command(pid)
		if err != nil || len(args) == 0 || !strings.HasPrefix(filepath.Base(args[0]), "containerd-shim") {
			continue
		}
		flags := shimFlags(args[1:])
		p, err := proc.Default.Read(pid)
		if err != nil || p.State.Ended() || flags["namespace"] != "k8s.io" || !sameSocket(flags["address"], socket) {
			continue
		}
		if started, err := proc.Default.Started(p); err == nil && now.Sub(started) > settleTime {
			f.shims = append(f.shims, Shim{PID: pid, ID: flags["id"]})
		}
	}
	prefix := filepath.Join(stateDir, tasks) + "/"
	mounted, err := mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) { return !strings.HasPrefix(i.Mountpoint, prefix), false })
	if err != nil {
		return f
	}
	for _, m := range mounted {
		id, rest, _ := strings.Cut(strings.TrimPrefix(m.Mountpoint, prefix), "/")
		if rest == "rootfs" {
			f.mounts[id] = m.Mountpoint
		}
	}
	f.examined = true
	return f
}

// namespaces counts the network namespaces in a directory that have settled.
func namespaces(dir string, now time.Time) (n int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	mounted, err := mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) {
		return i.FSType != "nsfs" || filepath.Dir(i.Mountpoint) != dir, false
	})
	if err != nil {
		return 0
	}
	at := map[string]bool{}
	for _, m := range mounted {
		at[filepath.Base(m.Mountpoint)] = true
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && at[e.Name()] && now.Sub(info.ModTime()) > settleTime {
			n++
		}
	}
	return n
}

// isNotNetNamespace reports whether there is no network namespace at a path: nothing, or the
// empty file that remains where one was mounted.
func isNotNetNamespace(path string) bool {
	var fs unix.Statfs_t
	err := unix.Statfs(path, &fs)
	return errors.Is(err, unix.ENOENT) || err == nil && fs.Type != unix.NSFS_MAGIC && fs.Type != unix.PROC_SUPER_MAGIC
}

// shimFlags returns the values of -NAME VALUE.
func shimFlags(args []string) map[string]string {
	flags := map[string]string{}
	for i := 0; i+1 < len(args); i++ {
		if name, ok := strings.CutPrefix(args[i], "-"); ok {
			flags[strings.TrimPrefix(name, "-")] = args[i+1]
		}
	}
	return flags
}

// sameSocket reports whether two paths lead to one socket.
func sameSocket(a, b string) bool {
	if a == b {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
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
	h.Swap, h.Err = swap()
	if n, err := readNumber("/proc/sys/user/max_user_namespaces"); err == nil {
		h.UserNamespaces = n
	}
	n, err := readNumber("/proc/sys/net/ipv4/ip_forward")
	h.Forwards = err != nil || n != 0
	shared, err := sharedRoot(server)
	h.SharedRoot, h.Err = shared, errors.Join(h.Err, err)
	var timex unix.Timex
	if _, err := unix.Adjtimex(&timex); err != nil {
		h.ClockErr = err
	}
	h.ClockSynchronized = timex.Status&unix.STA_UNSYNC == 0
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

// swap adds up the swap areas.
func swap() (total uint64, err error) {
	f, err := os.Open("/proc/swaps")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil // a kernel without swap
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // only read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 2 {
			if kib, err := strconv.ParseUint(fields[2], 10, 64); err == nil { // not the header
				total += kib << 10
			}
		}
	}
	return total, lines.Err()
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
