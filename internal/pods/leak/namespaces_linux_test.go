package leak

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/moby/sys/mountinfo"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
)

// CRI-O pins all namespaces of a sandbox. Which addresses are in them, and where its network has
// them, says of which sandbox they are.
func TestLookAtNamespacesOfCRIO(t *testing.T) {
	files := map[string]string{
		"cgroup/memory/": "", "leases/net/10.0.0.2": id("a") + "\r\neth0", "leases/net/10.0.0.3": id("d") + "\neth0",
		"var/lib/cni/results/net-" + id("d") + "-eth0": result(id("d"), "/run/ns/netns/d", "/leases"),
	}
	var mounts []*mountinfo.Info
	for i, kind := range []string{"net", "ipc", "uts"} {
		for j, name := range []string{"a", "d"} {
			path := "/run/ns/" + kind + "ns/" + name
			files[path] = ""
			mounts = append(mounts, &mountinfo.Info{Mountpoint: path, FSType: "nsfs", Root: fmt.Sprintf("%s:[%d]", kind, 10*i+j)})
		}
	}
	process(files, 5, 1, "/usr/bin/crio")
	h := fakeHost(t, files, mounts...)
	h.Addresses = func(path, ns string) ([]Address, error) {
		if path != "/run/ns/netns/a" || ns != "net:[0]" {
			t.Errorf("the addresses of %s, %s are read", path, ns)
		}
		return []Address{{"eth0", netip.MustParseAddr("fe80::1")}, {"eth0", netip.MustParseAddr("10.0.0.2")}}, nil
	}
	listed := map[string]bool{id("d"): true}
	f := Facts{Scan: h.Look(newRuntime(cri.RuntimeConfig{CRIO: &cri.ConfigOfCRIO{ContainerExitsDir: "/run/exits", NamespacesDir: "/run/ns"}}), listed), Listed: listed, ListedNamespaces: map[string]bool{"/run/ns/netns/d": true}, Now: noon}
	if got, want := text(Judge(f)), id("a")+" /: network namespace a, IPC namespace a, UTS namespace a, address 10.0.0.2 of network net (its network namespace is in /run/ns/netns)\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// A sandbox of CRI-O's without a process is known by its bundle, beside that of a container with a
// conmon; podman's in the same directory are left alone.
func TestLookAtStorageOfCRIO(t *testing.T) {
	const storage, metadata = "/run/storage/overlay-containers/", `"io.kubernetes.cri-o.Metadata":"{}","io.kubernetes.pod.name":"web","io.kubernetes.pod.namespace":"default",`
	config := func(of, netns, more string) string {
		return fmt.Sprintf(`{"root":{"path":"/overlay/%.1s"},"annotations":{%s"io.kubernetes.cri-o.SandboxID":%q},"linux":{"namespaces":[{"type":"network","path":%q}]}}`, of, more, of, netns)
	}
	files := map[string]string{
		storage + id("a") + "/userdata/config.json":           config(id("a"), "/run/ns/netns/a", metadata),
		storage + id("b") + "/userdata/config.json":           config(id("b"), "/run/netns/netns-b", ""),
		storage + id("c") + "/userdata/config.json":           config(id("c"), "/run/netns/c", metadata),
		"cgroup/memory/crio/crio-" + id("a") + "/":            "",
		"cgroup/memory/libpod_parent/libpod-" + id("b") + "/": "",
		"overlay/a/": "", "overlay/b/": "", "overlay/c/": "", "run/ns/netns/a": "",
	}
	process(files, 5, 1, "/usr/bin/crio")
	process(files, 10, 1, "/usr/bin/conmon", "-b", storage+id("d")+"/userdata", "-c", id("d"), "--exit-dir", "/run/exits")
	mounts := []*mountinfo.Info{{Mountpoint: "/run/ns/netns/a", FSType: "nsfs", Root: "net:[7]"}}
	for _, digit := range []string{"a", "b", "c"} {
		mounts = append(mounts, &mountinfo.Info{Mountpoint: "/overlay/" + digit})
	}
	r := newRuntime(cri.RuntimeConfig{CRIO: &cri.ConfigOfCRIO{ContainerExitsDir: "/run/exits", NamespacesDir: "/run/ns"}})
	r.PID = 5
	want := id("a") + " default/web: mount a, network namespace a, cgroup crio-" + id("a") + " (its network namespace is in /run/ns/netns)\n"
	if got := look(fakeHost(t, files, mounts...), r, id("d")); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// The host's own namespaces, which a pod of the host's network has by a name, are left by no process of
// a pod; others are occupied by those in them.
func TestNamespacesOfTheHostAreNotOccupied(t *testing.T) {
	files := map[string]string{}
	process(files, 1, 0, "init")
	process(files, 9, 1, "app")
	h := fakeHost(t, files)
	plantNamespaces(t, string(h.Procs), 1, "net:[1]")
	plantNamespaces(t, string(h.Procs), 9, "net:[9]")
	o := h.occupants()
	for ns, want := range map[string]int{"net:[1]": 0, "net:[9]": 9, "net:[7]": 0} {
		if pid, _ := o.in(ns); pid != want {
			t.Errorf("%s: process %d, want %d", ns, pid, want)
		}
	}
}

// A runtime that does not say which network namespace a sandbox has does not say that it has none.
func TestNamespacesThatAreNotReportedAreUnknown(t *testing.T) {
	for mode, known := range map[runtimeapi.NamespaceMode]bool{runtimeapi.NamespaceMode_POD: false, runtimeapi.NamespaceMode_NODE: true} {
		synctest.Test(t, func(t *testing.T) {
			rt := sim.New(sim.Options{}) // which reports no namespaces
			defer rt.Close()
			client, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: rt.Dial})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_, err = client.RunPodSandbox(t.Context(), &runtimeapi.PodSandboxConfig{
				Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u"},
				Linux:    &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{NamespaceOptions: &runtimeapi.NamespaceOption{Network: mode}}},
			}, "")
			if err != nil {
				t.Fatal(err)
			}
			f, facts := Finder{Client: client}, Facts{}
			if err := f.askNamespaces(t.Context(), &facts); err != nil || (facts.ListedNamespaces != nil) != known {
				t.Errorf("%s: %v, %v", mode, facts.ListedNamespaces, err)
			}
		})
	}
}
