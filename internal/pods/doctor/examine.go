package doctor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/leak"
)

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

// versionIssue is what is known of some releases of a runtime.
type versionIssue struct {
	runtime string
	// Releases from since and before the one of before have it; zeros are unbounded.
	since, before    [3]int
	level            Level
	evidence, remedy string
}

// versionIssues are the rows of docs/doctor.md.
var versionIssues = []versionIssue{
	{"containerd", [3]int{}, [3]int{1, 7}, Warning, "no user namespaces, no recursive read-only mounts, no events; its maintenance has ended", "upgrade to containerd 2"},
	{"containerd", [3]int{1, 7}, [3]int{2}, Warning, "each event goes to one subscriber: a kubelet, an agent and podctl pleg watch take events from each other", "upgrade to containerd 2; until then podctl finds what it misses by relists, up to a second later"},
	{"containerd", [3]int{2}, [3]int{2, 0, 3}, Info, "a sandbox status has a timestamp and no container statuses", "none is needed: podctl asks for the containers as well"},
	{"containerd", [3]int{}, [3]int{2, 1}, Info, "image volumes are not mounted", "upgrade to containerd 2.1"},
	{"cri-o", [3]int{}, [3]int{1, 31}, Info, "image volumes are not mounted", "upgrade to CRI-O 1.31"},
	{"cri-o", [3]int{}, [3]int{}, Info, "memory limits below 12Mi are refused (container_min_memory)", ""},
}

func checkVersion(f Facts, r *report) {
	v, ok := numbers(f.Runtime.Version)
	if !ok {
		r.info("%s is not a release: the known traps of releases do not apply", f.Runtime.Version)
		return
	}
	known := false
	for _, t := range versionIssues {
		if strings.EqualFold(t.runtime, f.Runtime.Version.Name) && !isOlder(v, t.since) && (t.before == [3]int{} || isOlder(v, t.before)) {
			known = true
			r.add(t.level, t.remedy, "%s: %s", f.Runtime.Version, t.evidence)
		}
	}
	if !known {
		r.ok("no known traps of %s", f.Runtime.Version)
	}
}

// numbers returns those of a version: v2.0.5-k3s1, 1.6.20~ds1.
func numbers(v cri.Version) (n [3]int, ok bool) {
	text := strings.TrimPrefix(v.Version, "v")
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		text = text[:i]
	}
	for i, part := range strings.SplitN(text, ".", 4) {
		if i == 3 {
			break
		}
		number, err := strconv.Atoi(part)
		if err != nil {
			return n, false
		}
		n[i], ok = number, i > 0
	}
	return n, ok
}

func isOlder(a, b [3]int) bool { return slices.Compare(a[:], b[:]) < 0 }
