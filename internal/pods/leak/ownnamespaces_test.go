package leak

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

// What a CRI-O leaves that is killed in RunPodSandbox: namespaces of one name, and an address
// that nothing names but its file.
func TestJudgeNamespacesOfCRIO(t *testing.T) {
	const name = "0b6d5a5e-0000-4000-8000-000000000001"
	s, other := strings.Repeat("5", 64), strings.Repeat("6", 64)
	eth0 := Address{"eth0", netip.MustParseAddr("10.0.0.2")}
	leaseOf := func(id string) Thing {
		return Thing{Kind: Lease, ID: id, Path: "/leases/net/10.0.0.2", Name: "10.0.0.2 of network net", Address: eth0, Since: old}
	}
	in := func(dir string) []Thing {
		return []Thing{
			{Kind: NetworkNamespace, Path: dir + "/netns/" + name, Since: old}, {Kind: IPCNamespace, Path: dir + "/ipcns/" + name, Since: old},
			{Kind: UTSNamespace, Path: dir + "/utsns/" + name, Since: old},
		}
	}
	own := Runtime{ExitDir: "/run/exits", NamespaceDir: "/run/ns/netns", OwnNamespaces: true, Networks: []string{"/leases/net"}}
	shared := Runtime{ExitDir: "/run/exits", NamespaceDir: "/run/netns", Networks: []string{"/leases/net"}}
	const pinned = "network namespace " + name + ", IPC namespace " + name + ", UTS namespace " + name
	none := map[string]bool{}
	for _, c := range []struct {
		title  string
		things []Thing
		change func(*Facts)
		want   string
	}{
		{"namespaces are one leak", in("/run/ns"), func(*Facts) {}, "/run/ns/netns/" + name + " /: " + pinned + " (/run/ns/netns is this runtime's, and no sandbox has it)\n"},
		{"those of the pod of a host's network", in("/run/ns")[1:], func(*Facts) {}, "/run/ns/ipcns/" + name + " /: IPC namespace " + name + ", UTS namespace " + name + " (/run/ns/ipcns is this runtime's, and no sandbox has it)\n"},
		{"a listed sandbox has one of the name", in("/run/ns"), func(f *Facts) { f.ListedNamespaces = map[string]bool{"/run/ns/netns/" + name: true} }, ""},
		{"it is not known which the sandboxes have", in("/run/ns"), func(f *Facts) { f.ListedNamespaces = nil },
			"unlisted network namespace " + name + "\nunlisted IPC namespace " + name + "\nunlisted UTS namespace " + name + "\n"},
		{"the sandbox is known by the address", append(in("/run/ns"), leaseOf(s)), func(*Facts) {}, s + " /: " + pinned + ", address 10.0.0.2 of network net (its network namespace is in /run/ns/netns)\n"},
		{"the lease of a listed sandbox", append(in("/run/ns"), leaseOf(s)), func(f *Facts) { f.Listed = map[string]bool{s: true} },
			"/run/ns/netns/" + name + " /: " + pinned + " (/run/ns/netns is this runtime's, and no sandbox has it)\n"},
		{"a namespace that is young keeps the lease", append(in("/run/ns"), leaseOf(s)), func(f *Facts) { f.Things[0].Since = noon.Add(-time.Minute) }, ""},
		{"a CNI plugin works on it", append(in("/run/ns"), leaseOf(s)), func(f *Facts) {
			f.Traces[s] = Trace{Busy: "CNI plugin bridge (pid 8)", NetworkNamespace: "/run/ns/netns/" + name}
		}, ""},
		{"a lease for another interface", append(in("/run/ns"), leaseOf(s)), func(f *Facts) { f.Things[3].Address.Interface = "net1" },
			"/run/ns/netns/" + name + " /: " + pinned + " (/run/ns/netns is this runtime's, and no sandbox has it)\n" +
				s + " /: address 10.0.0.2 of network net (likely this runtime's, which has the network net: no other runtime is seen on this host; assumed)\n"},
		{"the same address in another's network", append(in("/run/ns"), leaseOf(s)), func(f *Facts) { f.Things[3].Path = "/leases/podman/10.0.0.2" },
			"/run/ns/netns/" + name + " /: " + pinned + " (/run/ns/netns is this runtime's, and no sandbox has it)\nunlisted address 10.0.0.2 of network net\n"},
		{"two sandboxes have the address", append(in("/run/ns"), leaseOf(s), leaseOf(other)), func(f *Facts) { f.Other = "containerd (pid 7)" },
			"/run/ns/netns/" + name + " /: " + pinned + " (/run/ns/netns is this runtime's, and no sandbox has it)\n" +
				"unlisted address 10.0.0.2 of network net\nunlisted address 10.0.0.2 of network net\nother containerd (pid 7)\n"},
		{"the sandbox is another's, by the CNI cache", append(in("/run/ns"), leaseOf(s)), func(f *Facts) { f.Traces[s] = Trace{CRI: true, NetworkNamespace: "/run/netns/cni-1"} },
			"/run/ns/netns/" + name + " /: " + pinned + " (/run/ns/netns is this runtime's, and no sandbox has it)\n"},
		{"in the common directories", append(in("/run"), leaseOf(s)), func(f *Facts) { f.Runtime = shared },
			s + " /: " + pinned + ", address 10.0.0.2 of network net (CRI-O pinned it, no sandbox has it, and no other runtime is seen on this host)\n"},
		{"in the common directories, beside another runtime", append(in("/run"), leaseOf(s)), func(f *Facts) { f.Runtime, f.Other = shared, "crio (pid 7)" },
			"unlisted network namespace " + name + "\nunlisted IPC namespace " + name + "\nunlisted UTS namespace " + name + "\nunlisted address 10.0.0.2 of network net\nother crio (pid 7)\n"},
		{"in the common directories, with a process in the IPC namespace", in("/run"), func(f *Facts) {
			f.Runtime, f.Occupants = shared, map[string]string{"/run/ipcns/" + name: "process 9"}
		}, "unlisted network namespace " + name + "\nunlisted IPC namespace " + name + "\nunlisted UTS namespace " + name + "\n"},
		{"in the common directory, without those of CRI-O", in("/run")[:1], func(f *Facts) { f.Runtime = shared }, ""},
	} {
		f := Facts{Scan: Scan{Runtime: own, Things: c.things, Traces: map[string]Trace{}, Addresses: map[string][]Address{}}, ListedNamespaces: none, Now: noon}
		for _, t := range c.things {
			if t.Kind == NetworkNamespace {
				f.Addresses[t.Path] = []Address{eth0}
			}
		}
		c.change(&f)
		if got := text(Judge(f)); got != c.want {
			t.Errorf("%s:\ngot  %swant %s", c.title, got, c.want)
		}
	}
}
