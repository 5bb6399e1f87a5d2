package doctor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/podctl/podctl/internal/cri"
)

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
