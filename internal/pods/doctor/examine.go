package doctor

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
	{"runtime.oom-score", false, checkOOM},
	{"cgroup.version", true, checkCgroupVersion},
	{"cgroup.driver", false, checkCgroupDriver},
	{"disk", true, checkDisks},
	{"kernel.recursive-read-only", false, checkReadOnlyMounts},
	{"kernel.user-namespaces", false, checkUserNamespaces},
	{"kernel.mount-propagation", true, checkPropagation},
	{"kernel.forwarding", true, checkForwarding},
	{"pods", false, checkPods},
	{"leftover.scan", false, checkLeakScan},
	{"leftover", false, checkLeaks},
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
