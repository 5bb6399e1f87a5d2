package leak

import (
	"fmt"
	"github.com/podctl/podctl/internal/pod"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	// old is when things were made that have settled.
	old = noon.Add(-time.Hour)
	web = pod.Identity{Namespace: "default", Name: "web", UID: "uid-web"}
)

// ownRuntime has its network namespaces and a cgroup to itself.
var ownRuntime = Runtime{Socket: "/run/c.sock", StateDir: "/run/c", NamespaceDir: "/run/c/netns", OwnNamespaces: true, CgroupRoot: "podctl-1a"}

// sharedRuntime has nothing to itself.
var sharedRuntime = Runtime{Socket: "/run/c.sock", StateDir: "/run/c", NamespaceDir: "/run/netns"}

// text is what was found, a line per leak.
func text(f Findings) string {
	var b strings.Builder
	for _, l := range f.Leaks {
		var things []string
		for _, t := range l.Things {
			things = append(things, t.String())
		}
		evidence := l.Evidence
		if l.Assumed {
			evidence += "; assumed"
		}
		fmt.Fprintf(&b, "%s %s/%s: %s (%s)\n", l.ID, l.Pod.Namespace, l.Pod.Name, strings.Join(things, ", "), evidence)
	}
	for _, t := range f.Unlisted {
		fmt.Fprintf(&b, "unlisted %s\n", t)
	}
	if f.Other != "" && len(f.Unlisted) > 0 {
		fmt.Fprintf(&b, "other %s\n", f.Other)
	}
	for _, why := range f.Unread {
		fmt.Fprintf(&b, "unread %s\n", why)
	}
	return b.String()
}

func TestJudge(t *testing.T) {
	shim := Thing{Kind: Shim, ID: "s", PID: 8, Name: "shim", Since: old}
	lease := Thing{Kind: Lease, ID: "s", Path: "/leases/net/10.0.0.2", Name: "10.0.0.2 of network net", Since: old}
	netns := Thing{Kind: NetworkNamespace, Path: "/run/c/netns/cni-1", Since: old}
	process := Thing{Kind: Process, ID: "c", PID: 9, Name: "app", Path: "/kubepods/poduid-web/c", Since: old}
	podGroup := Thing{Kind: Cgroup, Pod: "uid-web", Path: "/podctl-1a/poduid-web", Since: old}
	bundle := Trace{CRI: true, Runtime: "its shim serves /run/c.sock", Pod: web}
	with := func(change func(*Thing), t Thing) Thing { change(&t); return t }
	shared := with(func(t *Thing) { t.Path = "/run/netns/cni-1" }, netns)
	cached := Trace{CRI: true, Pod: web, NetworkNamespace: shared.Path}
	longID := strings.Repeat("5", 64)
	hexLease := with(func(t *Thing) { t.ID = longID }, lease)
	networked := sharedRuntime
	networked.Networks = []string{"/leases/net"}
	young := func(t *Thing) { t.Since = noon.Add(-5 * time.Minute) }
	for _, c := range []struct {
		name  string
		facts Facts
		want  string
	}{
		{"what a sandbox left is one leak, in the order of removal", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{lease, podGroup, netns, process, shim}, Traces: map[string]Trace{
				"s": bundle.merge(Trace{NetworkNamespace: netns.Path}), "c": {CRI: true, Sandbox: "s", CgroupParent: podGroup.Path},
			}},
		}, "s default/web: process app (pid 9), shim shim (pid 8), network namespace cni-1, address 10.0.0.2 of network net, cgroup poduid-web (its shim serves /run/c.sock)\n"},
		{"nothing of what the runtime lists", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{lease, podGroup, netns, process, shim}, Traces: map[string]Trace{
				"s": bundle.merge(Trace{NetworkNamespace: netns.Path}),
			}},
			Listed: map[string]bool{"s": true, "c": true}, Pods: map[types.UID]pod.Identity{"uid-web": web},
		}, ""},
		{"a container that is gone of a sandbox that is listed", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{process, lease}, Traces: map[string]Trace{
				"s": bundle, "c": {CRI: true, Sandbox: "s", Runtime: "its shim serves /run/c.sock"},
			}},
			Listed: map[string]bool{"s": true},
		}, "c /: process app (pid 9) (its shim serves /run/c.sock)\n"},
		{"a part that is young keeps all", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{shim, with(young, lease)}, Traces: map[string]Trace{"s": bundle}},
		}, ""},
		{"a part whose age is not known keeps all", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{shim, with(func(t *Thing) { t.Since = time.Time{} }, lease)}, Traces: map[string]Trace{"s": bundle}},
		}, ""},
		{"the age of a cgroup beside other things", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{shim, {Kind: Cgroup, ID: "s", Path: "/k/poduid-web/s", Since: noon}}, Traces: map[string]Trace{"s": bundle}},
		}, "s default/web: shim shim (pid 8), cgroup s (its shim serves /run/c.sock)\n"},
		{"a cgroup alone", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{{Kind: Cgroup, ID: "s", Path: "/podctl-1a/poduid-web/s", Since: noon}}, Traces: map[string]Trace{"s": {CRI: true, CgroupParent: "/podctl-1a/poduid-web"}}},
		}, ""},
		{"a program works on a container of it", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{shim, process}, Traces: map[string]Trace{"s": bundle, "c": {Sandbox: "s", Busy: "runc (pid 7)"}}},
		}, ""},
		{"another client of this containerd: nerdctl -n k8s.io", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{shim}, Traces: map[string]Trace{"s": {Runtime: "its shim serves /run/c.sock"}}},
		}, "unlisted shim shim (pid 8)\n"},
		{"another runtime's shim", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease, process}, Traces: map[string]Trace{"s": {CRI: true, Pod: web, Foreign: true}, "c": {CRI: true, Pod: web}}, Other: "containerd-shim (pid 7)"},
			Pods: map[types.UID]pod.Identity{"uid-web": web},
		}, ""},
		{"an address of nobody known", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"an address of an earlier sandbox of a pod, on a host with one runtime", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {CRI: true, Pod: web}}},
			Pods: map[types.UID]pod.Identity{"uid-web": web},
		}, "s default/web: address 10.0.0.2 of network net (this runtime has a pod of its UID, and no other runtime is seen on this host)\n"},
		{"the same beside another runtime", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {CRI: true, Pod: web}}, Other: "crio (pid 7)"},
			Pods: map[types.UID]pod.Identity{"uid-web": web},
		}, "unlisted address 10.0.0.2 of network net\nother crio (pid 7)\n"},
		{"a pod of the UID that has another name", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {CRI: true, Pod: web}}},
			Pods: map[types.UID]pod.Identity{"uid-web": {Namespace: "default", Name: "copy", UID: "uid-web"}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"a sandbox of the cache, on a host with one runtime", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease, shared}, Traces: map[string]Trace{"s": cached}},
		}, "s default/web: network namespace cni-1, address 10.0.0.2 of network net (it was made through the CRI, and no other runtime is seen on this host)\n"},
		{"its address after a reboot", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": cached}},
		}, "s default/web: address 10.0.0.2 of network net (it was made through the CRI, and no other runtime is seen on this host)\n"},
		{"the same that the runtime lists", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease, shared}, Traces: map[string]Trace{"s": cached}}, Listed: map[string]bool{"s": true},
		}, ""},
		{"the same beside another runtime", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease, shared}, Traces: map[string]Trace{"s": cached}, Other: "crio (pid 7)"},
		}, "unlisted address 10.0.0.2 of network net\nunlisted network namespace cni-1\nother crio (pid 7)\n"},
		{"the same with a process in the namespace", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease, shared}, Traces: map[string]Trace{"s": cached}, Occupants: map[string]string{shared.Path: "process 9"}},
		}, "unlisted address 10.0.0.2 of network net\nunlisted network namespace cni-1\n"},
		{"the same with a process of the sandbox", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease, with(func(t *Thing) { t.ID = "s" }, process)}, Traces: map[string]Trace{"s": cached}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"the same that is young", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{with(young, lease), shared}, Traces: map[string]Trace{"s": cached}},
		}, ""},
		{"a sandbox of CRI-O on a containerd", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {CRI: true, Pod: web, NetworkNamespace: "/run/netns/0b6d5a5e"}}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"a sandbox of containerd on CRI-O", Facts{
			Scan: Scan{Runtime: Runtime{ExitDir: "/run/exits", NamespaceDir: "/run/netns"}, Things: []Thing{lease}, Traces: map[string]Trace{"s": cached}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"a container of the cache that was not made through the CRI", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {NetworkNamespace: shared.Path}}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"an address in the runtime's network, not in the cache", Facts{
			Scan: Scan{Runtime: networked, Things: []Thing{hexLease}},
		}, longID + " /: address 10.0.0.2 of network net (likely this runtime's, which has the network net: no other runtime is seen on this host; assumed)\n"},
		{"the same beside another runtime", Facts{
			Scan: Scan{Runtime: networked, Things: []Thing{hexLease}, Other: "crio (pid 7)"},
		}, "unlisted address 10.0.0.2 of network net\nother crio (pid 7)\n"},
		{"the same of an id of another form", Facts{
			Scan: Scan{Runtime: networked, Things: []Thing{lease}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"the same in another network", Facts{
			Scan: Scan{Runtime: networked, Things: []Thing{with(func(t *Thing) { t.Path = "/leases/podman/10.0.0.2" }, hexLease)}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"the same of an id that the cache names for another client", Facts{
			Scan: Scan{Runtime: networked, Things: []Thing{hexLease}, Traces: map[string]Trace{longID: {NetworkNamespace: "/run/netns/x"}}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"an address by the cgroup that podctl has for this runtime", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {CRI: true, Pod: web, CgroupParent: "/podctl-1a/besteffort/poduid-web"}}},
		}, "s default/web: address 10.0.0.2 of network net (its cgroup is below podctl-1a)\n"},
		{"the same with systemd", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {CRI: true, CgroupParent: "/podctl_1a.slice/podctl_1a-poduid.slice"}}},
		}, "s /: address 10.0.0.2 of network net (its cgroup is below podctl-1a)\n"},
		{"a process by the cgroup that podctl has for this runtime", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{with(func(t *Thing) { t.Path = podGroup.Path + "/c" }, process)}, Traces: map[string]Trace{"c": {CRI: true, Pod: web, CgroupParent: podGroup.Path}}},
			Pods: map[types.UID]pod.Identity{"uid-web": web},
		}, "unlisted process app (pid 9)\n"},
		{"what a container has below its own cgroup", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {CRI: true, CgroupParent: "/podctl-1a/poduid-web/c/kubepods/poduid-x"}}},
		}, "unlisted address 10.0.0.2 of network net\n"},
		{"processes in the cgroups of a kubelet, of whichever runtime", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{process}, Traces: map[string]Trace{"c": {CRI: true, CgroupParent: "/kubepods/poduid-web"}}},
		}, ""},
		{"a namespace in the runtime's own directory that no sandbox has", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{netns}}, ListedNamespaces: map[string]bool{"/run/c/netns/cni-2": true},
		}, "/run/c/netns/cni-1 /: network namespace cni-1 (/run/c/netns is this runtime's, and no sandbox has it)\n"},
		{"a namespace there that a sandbox has", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{netns}}, ListedNamespaces: map[string]bool{netns.Path: true},
		}, ""},
		{"a namespace there while the sandboxes' are not known", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{netns}},
		}, "unlisted network namespace cni-1\n"},
		{"a namespace of another program, ip netns add", Facts{
			Scan: Scan{Runtime: sharedRuntime, Things: []Thing{with(func(t *Thing) { t.Path = "/run/netns/blue" }, netns)}}, ListedNamespaces: map[string]bool{},
		}, ""},
		{"a sandbox of the cache has its namespace elsewhere", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{lease}, Traces: map[string]Trace{"s": {CRI: true, NetworkNamespace: "/run/netns/cni-9"}}},
		}, ""},
		{"the cgroup of a pod that nobody has", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{podGroup}},
		}, "uid-web /: cgroup poduid-web (it is below podctl-1a)\n"},
		{"the cgroup of a pod of the same UID on another runtime", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{shim, with(func(t *Thing) { t.Path = "/podctl-2b/poduid-web" }, podGroup)}, Traces: map[string]Trace{"s": bundle.merge(Trace{CgroupParent: podGroup.Path})}},
		}, "s default/web: shim shim (pid 8) (its shim serves /run/c.sock)\n"},
		{"the cgroup of a pod that may be there", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{podGroup}}, PodsUnknown: "agent does not answer",
		}, "unread cgroups of pods are not judged: agent does not answer\n"},
		{"the cgroup of a pod with a container of another runtime", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{podGroup, with(func(t *Thing) { t.Path = podGroup.Path + "/c" }, process)}, Traces: map[string]Trace{"c": {Foreign: true}}},
		}, ""},
		{"the cgroup of a kubelet's pod", Facts{
			Scan: Scan{Runtime: ownRuntime, Things: []Thing{with(func(t *Thing) { t.Path = "/kubepods/poduid-web" }, podGroup)}},
		}, ""},
	} {
		c.facts.Now = noon
		if got := text(Judge(c.facts)); got != c.want {
			t.Errorf("%s:\ngot  %swant %s", c.name, got, c.want)
		}
	}
}

// A thing that is seen again is the same, whatever its age seems to be.
func TestThingSeenTwiceIsTheSame(t *testing.T) {
	shim := Thing{Kind: Shim, ID: "s", PID: 8, Start: 5, Name: "shim", Since: noon}
	again := shim
	again.Since, again.Name = old, "renamed"
	reused := shim
	reused.Start = 6
	if !shim.same(again) || shim.same(reused) {
		t.Errorf("same %v, after reuse of the PID %v", shim.same(again), shim.same(reused))
	}
}
