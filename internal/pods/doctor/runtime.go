package doctor

import (
	"cmp"
	"errors"
	"strings"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/sys/hint"
)

func checkCRI(f Facts, r *report) {
	if err := f.Runtime.Err; err != nil {
		r.fail(cmp.Or(hint.Of(err), "start the runtime, or name its socket with -r"), "%v", err)
		return
	}
	r.ok("%s at %s, CRI %s", f.Runtime.Version, f.Runtime.Endpoint, f.Runtime.Version.APIVersion)
}

func checkReady(f Facts, r *report) {
	if f.Runtime.StatusErr != nil {
		r.fail("", "the runtime's status cannot be read: %v", f.Runtime.StatusErr)
		return
	}
	if c := f.Runtime.Status.Runtime; !c.OK {
		r.fail("read the runtime's log", "RuntimeReady is false: %s", reason(c))
		return
	}
	r.ok("RuntimeReady")
}

func checkNetwork(f Facts, r *report) {
	if f.Runtime.StatusErr != nil {
		return
	}
	if c := f.Runtime.Status.Network; !c.OK {
		r.fail("pods without hostNetwork cannot start; install a CNI configuration", "NetworkReady is false: %s", reason(c))
		return
	}
	r.ok("NetworkReady")
}

func reason(c cri.Condition) string {
	return cmp.Or(strings.Trim(c.Reason+": "+c.Message, ": "), "no reason given")
}

func checkConditions(f Facts, r *report) {
	for _, c := range f.Runtime.Status.Others {
		if !c.OK {
			r.warn("read the runtime's log", "%s is false: %s", c.Type, reason(c))
		}
	}
}

func checkCNI(f Facts, r *report) {
	cni := f.Runtime.Config.CNI
	if !cni.Shown {
		r.info("the runtime does not show its CNI configuration")
		return
	}
	if cni.LoadStatus != "" && cni.LoadStatus != "OK" {
		r.fail("install a CNI configuration in "+cni.ConfDir, "no CNI configuration is loaded from %s: %s", cni.ConfDir, cni.LoadStatus)
	}
	var found []string
	for _, n := range cni.Networks {
		if len(n.Missing) > 0 {
			r.fail("install the CNI plugins there (Debian: containernetworking-plugins), or correct the runtime's directory of programs",
				"network %s of %s needs %s, not found in %s", n.Name, cni.ConfDir, strings.Join(n.Missing, ", "), strings.Join(cni.BinDirs, ", "))
			continue
		}
		found = append(found, n.Name+" ("+strings.Join(n.Plugins, ", ")+")")
	}
	if len(found) > 0 {
		r.ok("%s in %s", strings.Join(found, ", "), cni.ConfDir)
	}
}

func checkEvents(f Facts, r *report) {
	const relists = "podctl and kubelets see changes by relisting, up to a second late"
	switch {
	case !f.Runtime.Probed:
		r.info("not opened: %s gives no event to more than one subscriber, and the doctor would take those of another", f.Runtime.Version)
	case f.Runtime.Events == nil:
		r.ok("the event stream opens")
	case f.Runtime.Config.Events != nil && !*f.Runtime.Config.Events:
		r.add(Info, "enable_pod_events = true in crio.conf", "events are disabled in its configuration; %s", relists)
	case errors.Is(f.Runtime.Events, cri.ErrUnsupported):
		r.info("%s has no events; %s", f.Runtime.Version, relists)
	default:
		r.warn("read the runtime's log", "the event stream does not open: %v; %s", f.Runtime.Events, relists)
	}
}

func checkOOM(f Facts, r *report) {
	if f.Runtime.Server.PID == 0 || f.Runtime.Server.CanRaise {
		return
	}
	switch {
	case f.Runtime.Config.RestrictOOM:
		r.ok("the runtime has no CAP_SYS_RESOURCE, and does not lower oom_score_adj (restrict_oom_score_adj)")
	case f.Runtime.Version.Name == "containerd" && !f.Runtime.Config.Shown:
		r.info("the runtime has no CAP_SYS_RESOURCE; whether its configuration has restrict_oom_score_adj is unknown, and without it no sandbox starts")
	case f.Runtime.Version.Name == "containerd":
		r.fail("restrict_oom_score_adj = true in containerd's configuration", "the runtime has no CAP_SYS_RESOURCE: a container with a negative oom_score_adj, as every sandbox has, does not start")
	default:
		r.warn("a wrapper around runc that raises a negative oomScoreAdj to 0", "the runtime has no CAP_SYS_RESOURCE: unless its runc is wrapped, a container with a negative oom_score_adj does not start")
	}
}

func checkCgroupDriver(f Facts, r *report) {
	drivers, given, kubelet := f.Runtime.Drivers, f.Runtime.GivenDriver, f.Kubelet.CgroupDriver
	driver := drivers.Default
	switch {
	case f.Runtime.DriverErr != nil:
		r.warn("", "the runtime's cgroup driver cannot be read: %v", f.Runtime.DriverErr)
		return
	case driver == "" && given != "":
		r.info("%s does not name its cgroup driver; podctl is told to use %s", f.Runtime.Version, given)
		return
	case driver == "" && kubelet != "":
		r.warn("compare them: the runtime's configuration, cgroupDriver of the kubelet", "%s does not name its cgroup driver; podctl takes %s, for which the kubelet beside it is configured", f.Runtime.Version, kubelet)
		return
	case driver == "":
		assumed, is := cri.DriverCgroupfs, "is not"
		if f.Host.Systemd {
			assumed, is = cri.DriverSystemd, "is"
		}
		r.warn("--cgroup-driver, or PODCTL_CGROUP_DRIVER", "%s does not name its cgroup driver; podctl assumes %s, as systemd %s the first process", f.Runtime.Version, assumed, is)
		return
	case given != "" && given != driver:
		r.fail("leave out --cgroup-driver and PODCTL_CGROUP_DRIVER", "the runtime uses %s, and podctl is told to use %s", driver, given)
		return
	case !f.Host.Systemd && driver == cri.DriverSystemd && f.Host.Err == nil:
		r.fail("configure the runtime for the cgroupfs driver", "the runtime uses the systemd driver on a host without systemd")
		return
	case kubelet != "" && kubelet != driver && !drivers.Named:
		r.fail("configure both for the systemd driver: SystemdCgroup of containerd, cgroupDriver of the kubelet", "the runtime uses %s, and the kubelet (pid %d) %s", driver, f.Kubelet.PID, kubelet)
		return
	case f.Host.Systemd && driver == cri.DriverCgroupfs:
		r.warn("configure the runtime for the systemd driver", "the runtime uses cgroupfs on a host whose cgroups systemd manages: two managers of one tree")
		return
	case kubelet != "" && kubelet != driver:
		r.info("the runtime uses %s; the kubelet is configured for %s and follows the runtime since v1.34", driver, kubelet)
		return
	}
	if others := drivers.Others(); len(others) > 0 {
		r.info("%s; %s with handler %s", driver, drivers.Of(others[0]), strings.Join(others, ", "))
		return
	}
	r.ok("%s", driver)
}
