package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/usage"
)

func checkCgroupVersion(f Facts, r *report) {
	switch {
	case f.Host.Err != nil:
		r.unknown("the host", f.Host.Err)
	case f.Host.CgroupVersion == 2:
		r.ok("cgroup v2")
	case f.Host.CgroupVersion == 1:
		r.warn("boot with systemd.unified_cgroup_hierarchy=1", "cgroup v1: no memory QoS, no swap limits, no single OOM kill of a container; kubelets refuse it since v1.35 unless failCgroupV1 is false")
	default:
		r.fail("mount cgroup2 at /sys/fs/cgroup", "no cgroups at /sys/fs/cgroup")
	}
}

// The free shares of a file system below which it is a warning or a failure, in percent. The kubelet
// evicts by default below 15 % of imagefs, 10 % of nodefs and 5 % of the inodes of either
// (DefaultEvictionHard in pkg/kubelet/eviction/defaults_linux.go).
const (
	lowSpace, fullSpace   = 15, 5
	lowInodes, fullInodes = 10, 2
)

func checkDisks(f Facts, r *report) {
	for i, d := range f.Disks {
		r.name = "disk." + d.What
		if d.Device != 0 && slices.ContainsFunc(f.Disks[:i], func(other Disk) bool { return other.Device == d.Device }) {
			continue // reported already
		}
		const remedy = "podctl prune removes unused images; podctl orphans lists directories of gone pods"
		if d.Err != nil {
			r.unknown(d.Path, d.Err)
			continue
		}
		space, text := percent(d.Free, d.Size), fmt.Sprintf("%s: %s of %s free (%d%%)", d.Path, usage.Bytes(d.Free), usage.Bytes(d.Size), percent(d.Free, d.Size))
		inodes := 100
		if d.Inodes > 0 {
			inodes = percent(d.FreeInodes, d.Inodes)
			text += fmt.Sprintf(", %d%% of the inodes", inodes)
		}
		switch {
		case space < fullSpace || inodes < fullInodes:
			r.fail(remedy, text)
		case space < lowSpace || inodes < lowInodes:
			r.warn(remedy, text)
		default:
			r.ok(text)
		}
	}
}

func percent(part, whole uint64) int {
	if whole == 0 {
		return 0
	}
	return int(float64(part) / float64(whole) * 100)
}

func checkReadOnlyMounts(f Facts, r *report) {
	with, without := handlers(f.Runtime.Status.Handlers, func(h cri.Handler) bool { return h.RecursiveReadOnlyMounts })
	switch {
	case len(with)+len(without) == 0:
		r.info("%s does not report it: recursiveReadOnly: IfPossible is not recursive, Enabled is refused", f.Runtime.Version)
	case len(with) == 0:
		r.info("no handler has recursive read-only mounts (kernel %s; Linux 5.12 and runc 1.1 do)", f.Host.Kernel)
	case len(without) > 0:
		r.ok("handlers %s; not %s", strings.Join(with, ", "), strings.Join(without, ", "))
	default:
		r.ok("handlers %s", strings.Join(with, ", "))
	}
}

// handlers returns the names of those that have a feature, and of the others.
func handlers(all []cri.Handler, has func(cri.Handler) bool) (with, without []string) {
	for _, h := range all {
		name := h.Name
		if name == "" {
			name = "(default)"
		}
		if has(h) {
			with = append(with, name)
		} else {
			without = append(without, name)
		}
	}
	return with, without
}

func checkUserNamespaces(f Facts, r *report) {
	with, without := handlers(f.Runtime.Status.Handlers, func(h cri.Handler) bool { return h.UserNamespaces })
	switch {
	case f.Host.UserNamespaces == 0:
		r.info("disabled: user.max_user_namespaces is 0; pods with hostUsers: false do not start")
	case len(with)+len(without) == 0:
		r.info("%s does not report them: pods with hostUsers: false are refused", f.Runtime.Version)
	case len(with) == 0:
		r.info("no handler has user namespaces (kernel %s; they need Linux 6.3 for idmapped mounts, and runc 1.2 or crun 1.9): pods with hostUsers: false are refused", f.Host.Kernel)
	default:
		r.ok("handlers %s", strings.Join(with, ", "))
	}
}

func checkPropagation(f Facts, r *report) {
	switch {
	case f.Host.Err != nil:
	case f.Host.SharedRoot:
		r.ok("/ is a shared mount")
	default:
		r.warn("mount --make-rshared /", "/ is not a shared mount: containers with mountPropagation HostToContainer or Bidirectional do not start")
	}
}

func checkForwarding(f Facts, r *report) {
	switch {
	case f.Host.Err != nil:
	case f.Host.Forwards:
		r.ok("net.ipv4.ip_forward is 1")
	default:
		r.warn("sysctl -w net.ipv4.ip_forward=1", "net.ipv4.ip_forward is 0: pods on a bridge reach this host only")
	}
}
