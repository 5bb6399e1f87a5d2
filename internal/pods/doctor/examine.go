package doctor

import "github.com/podctl/podctl/internal/pods/leak"

// checks are all checks, in the order in which they are printed.
var checks = []struct {
	name string
	// host: it says something without a runtime, too.
	host  bool
	check func(Facts, *report)
}{
	{"runtime.cri", true, checkCRI},
	{"runtime.ready", false, checkReady},
	{"runtime.network", false, checkNetwork},
	{"runtime.conditions", false, checkConditions},
	{"runtime.cni", false, checkCNI},
	{"runtime.addresses", false, checkPools},
	{"runtime.events", false, checkEvents},
	{"runtime.version", false, checkVersion},
	{"runtime.sandbox-image", false, checkSandboxImage},
	{"runtime.oom-score", false, checkOOM},
	{"cgroup.version", true, checkCgroupVersion},
	{"cgroup.driver", false, checkCgroupDriver},
	{"disk", true, checkDisks},
	{"clock", true, checkClock},
	{"kernel.recursive-read-only", false, checkReadOnlyMounts},
	{"kernel.user-namespaces", false, checkUserNamespaces},
	{"kernel.mount-propagation", true, checkPropagation},
	{"kernel.forwarding", true, checkForwarding},
	{"kernel.swap", true, checkSwap},
	{"pods", false, checkPods},
	{"leftover.scan", false, checkLeakScan},
	{"leftover.shims", false, checkLeaks("shim", leak.Shim)},
	{"leftover.processes", false, checkLeaks("process", leak.Process)},
	{"leftover.mounts", false, checkLeaks("mount", leak.Mount)},
	{"leftover.namespaces", false, checkLeaks("namespace", leak.NetworkNamespace, leak.IPCNamespace, leak.UTSNamespace, leak.UserNamespace)},
	{"leftover.leases", false, checkLeaks("address", leak.Lease)},
	{"leftover.cgroups", false, checkLeaks("cgroup", leak.Cgroup)},
	{"kubelet", false, checkKubelet},
	{"kubelet.files", false, checkKubeletFiles},
	{"kubelet.pods", false, checkKubeletPods},
	{"podctl", true, checkPodctl},
}

// Examine returns the findings of all checks. Pure.
func Examine(f Facts) []Finding {
	var all []Finding
	for _, c := range checks {
		if f.Runtime.Err != nil && !c.host {
			continue
		}
		r := &report{name: c.name}
		c.check(f, r)
		all = append(all, r.findings...)
	}
	return all
}
