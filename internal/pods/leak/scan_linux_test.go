package leak

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup/cgrouptest"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
)

// id is an id of a container, of one hexadecimal digit.
func id(digit string) string { return strings.Repeat(digit, 64) }

// uid is the UID of the pod of the tests.
const uid = "31cd39b7-27d8-8818-8169-f79a11ba2858"

// fakeHost is a host of files that are an hour old. A name that ends with a slash is a directory,
// a text that begins with an arrow the target of a link.
func fakeHost(t *testing.T, files map[string]string, mounts ...*mountinfo.Info) Host {
	t.Helper()
	root := cgrouptest.Dir(t)
	for name, text := range files {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.Mode().Type() == os.ModeSymlink {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	plantNamespaces(t, filepath.Join(root, "proc"), os.Getpid(), "net:[4026531840]")
	return Host{
		Root: root, Cgroups: filepath.Join(root, "cgroup"), Procs: proc.FS(filepath.Join(root, "proc")),
		Mounts:    func() ([]*mountinfo.Info, error) { return mounts, nil },
		Addresses: func(string, string) ([]Address, error) { return nil, nil },
	}
}

// plantNamespaces says which network namespace a process of the host has.
func plantNamespaces(t *testing.T, procs string, pid int, net string) {
	t.Helper()
	dir := filepath.Join(procs, fmt.Sprint(pid), "ns")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"pid": hostPIDNamespace, "net": net} {
		_ = os.Remove(filepath.Join(dir, name)) // of the process as it was made
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// process adds a process that started an hour ago to files.
func process(files map[string]string, pid, parent int, args ...string) {
	dir := fmt.Sprintf("proc/%d/", pid)
	files[dir+"stat"] = fmt.Sprintf("%d (%.15s) S %d%s 0 0\n", pid, filepath.Base(args[0]), parent, strings.Repeat(" 0", 17))
	files[dir+"status"] = "Name:\tx\n"
	files[dir+"ns/mnt"], files[dir+"ns/pid"], files[dir+"ns/user"], files[dir+"root"] = "-> mnt:[1]", "-> pid:[1]", "-> user:[1]", "-> /"
	files[dir+"cmdline"] = strings.Join(args, "\x00") + "\x00"
	files["proc/stat"] = fmt.Sprintf("btime %d\n", old.Unix())
}

// look is what a look finds of a runtime that lists ids, as text.
func look(h Host, r Runtime, listed ...string) string {
	f := Facts{Listed: map[string]bool{}, Now: noon}
	for _, id := range listed {
		f.Listed[id] = true
	}
	f.Scan = h.Look(r, f.Listed)
	return text(Judge(f))
}

// result is a file of the CNI cache.
func result(id, netns, dataDir string) string {
	config := fmt.Sprintf(`{"name":"net","plugins":[{"type":"bridge","ipam":{"type":"host-local","dataDir":%q}}]}`, dataDir)
	return fmt.Sprintf(`{"containerId":%q,"config":%q,"netns":%q,"cniArgs":[["K8S_POD_NAMESPACE","default"],["K8S_POD_NAME","web"],["K8S_POD_INFRA_CONTAINER_ID",%q],["K8S_POD_UID",%q]]}`,
		id, base64.StdEncoding.EncodeToString([]byte(config)), netns, id, uid)
}

// containerdHost is a containerd that forgot the pod of sandbox a with container b, and lists
// sandbox d; c is of another containerd, e of nerdctl.
func containerdHost(t *testing.T, group, container string) Host {
	files := map[string]string{
		"run/c/io.containerd.runtime.v2.task/k8s.io/" + id("a") + "/config.json": `{"annotations":{"io.kubernetes.cri.sandbox-id":"` + id("a") + `","io.kubernetes.cri.sandbox-name":"web","io.kubernetes.cri.sandbox-namespace":"default"}}`,
		"run/c/io.containerd.runtime.v2.task/k8s.io/" + id("e") + "/config.json": `{"annotations":{"nerdctl/name":"x"}}`,
		"var/lib/cni/results/net-" + id("a") + "-eth0":                           result(id("a"), "/run/c/netns/cni-a", "/leases"),
		"run/c/netns/cni-a":           "",
		"leases/net/10.0.0.2":         id("a") + "\r\neth0",
		"leases/net/10.0.0.3":         id("d") + "\r\neth0",
		"leases/net/lock":             "",
		"leases/net/last_reserved_ip": "10.0.0.3",
		group + "/":                   "",
	}
	process(files, 5, 1, "/bin/containerd")
	process(files, 10, 1, "/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", id("a"), "-address", "/run/c.sock")
	process(files, 11, 10, "/pause")
	process(files, 12, 10, "app")
	process(files, 20, 1, "/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", id("c"), "-address", "/run/other.sock")
	process(files, 30, 1, "/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", id("d"), "-address", "/run/c.sock")
	process(files, 40, 1, "/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", id("e"), "-address", "/run/c.sock")
	process(files, 50, 1, "/bin/containerd-shim-runc-v2", "-namespace", "moby", "-id", id("f"), "-address", "/run/c.sock")
	for digit, procs := range map[string]string{"a": "11\n", "b": "12\n", "c": "21\n", "d": "31\n"} {
		files[group+"/"+fmt.Sprintf(container, id(digit))+"/cgroup.procs"] = procs
	}
	return fakeHost(t, files, &mountinfo.Info{Mountpoint: "/run/c/io.containerd.runtime.v2.task/k8s.io/" + id("a") + "/rootfs"},
		&mountinfo.Info{Mountpoint: "/run/c/io.containerd.runtime.v2.task/k8s.io/" + id("d") + "/rootfs"},
		&mountinfo.Info{Mountpoint: "/run/c/netns/cni-a", FSType: "nsfs", Root: "net:[4026532178]"})
}

func TestLookAtContainerd(t *testing.T) {
	const want = "process app (pid 12), process pause (pid 11), shim containerd-shim (pid 10), mount rootfs, network namespace cni-a, address 10.0.0.2 of network net, "
	for name, c := range map[string]struct{ group, container, want string }{
		"v1 cgroupfs": {"cgroup/memory/kubepods/besteffort/pod" + uid, "%s", want + "cgroup " + id("b") + ", cgroup " + id("a")},
		"v2 systemd": {"cgroup/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice", "cri-containerd-%s.scope",
			want + "cgroup cri-containerd-" + id("b") + ".scope, cgroup cri-containerd-" + id("a") + ".scope"},
	} {
		h := containerdHost(t, c.group, c.container)
		if strings.HasPrefix(name, "v2") {
			if err := os.WriteFile(filepath.Join(h.Cgroups, "cgroup.controllers"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := Runtime{Socket: "/run/c.sock", PID: 5, StateDir: "/run/c", NamespaceDir: "/run/c/netns", OwnNamespaces: true}
		got := look(h, r, id("d"))
		want := id("a") + " default/web: " + c.want + ", cgroup pod" + uid + " (its shim serves /run/c.sock)\nunlisted shim containerd-shim (pid 40)\nother containerd-shim (pid 20)\n"
		if got != want {
			t.Errorf("%s:\ngot  %swant %s", name, got, want)
		}
		if got := look(h, r, id("a"), id("b"), id("d")); got != "unlisted shim containerd-shim (pid 40)\nother containerd-shim (pid 20)\n" {
			t.Errorf("%s, listed: %s", name, got)
		}
	}
}

// Under each driver a cgroup with a process of a listed container is no leak, and an unowned one is
// one leak.
func TestLeakedPodGroupInEveryLayout(t *testing.T) {
	for _, l := range cgrouptest.Layouts() {
		if l.Root != cgrouptest.Roots[0] {
			continue
		}
		files := map[string]string{}
		process(files, 5, 1, "/bin/containerd")
		h := fakeHost(t, files)
		l.Write(t, h.Cgroups, cgrouptest.Pod{UID: uid, Class: "besteffort", Processes: map[string][]int{id("a"): {11}, id("b"): {12}}},
			cgrouptest.Pod{UID: "00000000-0000-4000-8000-000000000009", Class: "burstable"})
		if err := filepath.Walk(h.Cgroups, func(path string, _ os.FileInfo, err error) error {
			return errors.Join(err, os.Chtimes(path, old, old))
		}); err != nil {
			t.Fatal(err)
		}
		got := look(h, Runtime{Socket: "/run/c.sock", PID: 5, CgroupRoot: l.Root}, id("a"), id("b"))
		want := "00000000-0000-4000-8000-000000000009 /: cgroup pod00000000-0000-4000-8000-000000000009 (it is below " + l.Root + ")\n"
		if got != want {
			t.Errorf("%s:\ngot  %swant %s", l, got, want)
		}
	}
}

// CRI-O's sandboxes may have no process; its conmons say whose they are.
func TestLookAtCRIO(t *testing.T) {
	bundle := "/run/storage/overlay-containers/" + id("b") + "/userdata"
	files := map[string]string{
		"/run/storage/overlay-containers/" + id("a") + "/userdata/config.json":           `{"root":{"path":"/var/storage/overlay/2/merged"},"annotations":{"io.kubernetes.cri-o.SandboxID":"` + id("a") + `"}}`,
		"var/storage/overlay/2/merged/":                                                  "",
		bundle + "/config.json":                                                          `{"root":{"path":"/var/storage/overlay/1/merged"},"annotations":{"io.kubernetes.cri-o.SandboxID":"` + id("a") + `"}}`,
		"cgroup/memory/kubepods/pod" + uid + "/crio-" + id("b") + "/cgroup.procs":        "12\n",
		"cgroup/memory/kubepods/pod" + uid + "/crio-conmon-" + id("b") + "/cgroup.procs": "10\n",
		"var/storage/overlay/1/merged/":                                                  "",
	}
	conmon := func(pid int, id, exits string) {
		process(files, pid, 1, "/usr/bin/conmon", "-b", "/run/storage/overlay-containers/"+id+"/userdata", "-c", id, "--exit-dir", exits, "-n", "k8s_app_web_default_"+uid+"_0")
	}
	conmon(10, id("b"), "/run/exits")
	process(files, 12, 10, "app")
	process(files, 5, 1, "/usr/bin/crio")
	conmon(20, id("c"), "/run/libpod/exits")
	conmon(30, id("d"), "/run/exits")
	h := fakeHost(t, files, &mountinfo.Info{Mountpoint: "/var/storage/overlay/1/merged"}, &mountinfo.Info{Mountpoint: "/var/storage/overlay/2/merged"}, &mountinfo.Info{Mountpoint: "/var/storage/overlay/3/merged"})
	r := Runtime{Socket: "/run/crio.sock", PID: 5, ExitDir: "/run/exits", NamespaceDir: "/run/ns"}
	want := id("a") + " default/web: process app (pid 12), shim conmon (pid 10), mount merged, mount merged, cgroup crio-" + id("b") + ", cgroup pod" + uid + " (its conmon reports to /run/exits)\n"
	if got := look(h, r, id("d")); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// A container, or a user, may have a process of any name, with any arguments and files: it must
// not have podctl kill another runtime's container, or detach a mount of the host's.
func TestShimOfAContainerOrUserIsNotBelieved(t *testing.T) {
	files := map[string]string{
		"emptydir/config.json": `{"root":{"path":"/home"},"annotations":{"io.kubernetes.cri-o.SandboxID":"` + id("a") + `"}}`, "home/": "",
		"cgroup/memory/kubepods/pod" + uid + "/" + id("b") + "/cgroup.procs": "12\n",
	}
	process(files, 5, 1, "/usr/bin/runtime")
	process(files, 12, 31, "app")
	process(files, 20, 1, "/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", id("c"), "-address", "/run/other.sock")
	process(files, 30, 29, "conmon", "-c", id("a"), "-b", "/emptydir", "--exit-dir", "/run/exits")
	process(files, 31, 29, "containerd-shim", "-namespace", "k8s.io", "-id", id("b"), "-address", "/run/c.sock")
	r := Runtime{Socket: "/run/c.sock", PID: 5, ExitDir: "/run/exits", StateDir: "/run/c"}
	home := &mountinfo.Info{Mountpoint: "/home"}
	if got := look(fakeHost(t, files, home), r); !strings.Contains(got, "mount home") || !strings.Contains(got, "process app") {
		t.Errorf("beside the runtime: %s", got)
	}
	files["proc/30/ns/mnt"], files["proc/31/ns/mnt"] = "-> mnt:[2]", "-> mnt:[2]"
	if got := look(fakeHost(t, files, home), r); got != "" {
		t.Errorf("in a container: %s", got)
	}
	for _, pid := range []string{"30", "31"} {
		files["proc/"+pid+"/ns/mnt"], files["proc/"+pid+"/status"] = files["proc/5/ns/mnt"], "Uid:\t1000\t0\t0\t0\n"
	}
	if got := look(fakeHost(t, files, home), r); got != "" {
		t.Errorf("of another user: %s", got)
	}
}

// A node in a container, and a runtime in a chroot, have a runtime with this one's paths, so that
// its cgroups may have their names; and a container can make a cgroup of any name.
func TestContainersOfANestedRuntimeAreForeign(t *testing.T) {
	group := "cgroup/memory/podctl-1a/besteffort/pod" + uid
	r := Runtime{Socket: "/run/c.sock", PID: 5, StateDir: "/run/c", NamespaceDir: "/run/c/netns", OwnNamespaces: true, CgroupRoot: "podctl-1a"}
	const shim, inContainer = "/bin/containerd-shim-runc-v2", "-> mnt:[2]"
	leaked := id("b") + " /: process app (pid 12), network namespace cni-x, cgroup " + id("b") + ", cgroup pod" + uid
	for _, c := range []struct {
		name   string
		change func(files map[string]string)
		want   string
	}{
		{"below the runtime's shim", func(map[string]string) {}, id("a") + " /: process app (pid 12), shim containerd-shim (pid 10), cgroup " + id("b") + ", cgroup pod" + uid + " (its shim serves /run/c.sock)\n"},
		{"the shim is in another mount namespace", func(f map[string]string) { f["proc/10/ns/mnt"] = inContainer }, ""},
		{"in another PID namespace", func(f map[string]string) { f["proc/10/ns/pid"] = "-> pid:[2]" }, ""},
		{"in another user namespace", func(f map[string]string) { f["proc/10/ns/user"] = "-> user:[2]" }, ""},
		{"in a chroot", func(f map[string]string) { f["proc/10/root"] = "-> /proc" }, ""},
		{"the shim has a name of its own", func(f map[string]string) {
			process(f, 10, 9, "/bin/shim-of-mine")
			f["proc/10/ns/mnt"] = inContainer
		}, ""},
		{"the shim has exited, and init of the container has its process", func(f map[string]string) {
			process(f, 12, 8, "app")
			process(f, 8, 1, "init")
			f["proc/8/ns/mnt"] = inContainer
			delete(f, "proc/10/cmdline")
		}, ""},
		{"below another process of the container", func(f map[string]string) {
			process(f, 12, 13, "app")
			process(f, 13, 10, "sh")
			f["proc/13/ns/mnt"], f["proc/10/ns/mnt"] = inContainer, inContainer
			f["proc/13/cgroup"] = "3:memory:/podctl-1a/besteffort/pod" + uid + "/" + id("b") + "\n"
		}, ""},
		{"nothing tells but the cgroup: no proof to kill by", func(f map[string]string) {
			process(f, 12, 1, "app")
			delete(f, "proc/10/cmdline")
		}, "unlisted process app (pid 12)\n"},
		{"its network namespace is the runtime's", func(f map[string]string) {
			process(f, 12, 1, "app")
			f["proc/12/ns/net"], f["proc/5/ns/net"] = "-> net:[7]", "-> net:[1]"
			delete(f, "proc/10/cmdline")
		}, leaked + " (its network namespace is in /run/c/netns)\n"},
		{"it has the host's network, which is mounted there, too", func(f map[string]string) {
			process(f, 12, 1, "app")
			f["proc/12/ns/net"], f["proc/5/ns/net"] = "-> net:[7]", "-> net:[7]"
			delete(f, "proc/10/cmdline")
		}, "unlisted process app (pid 12)\n"},
		{"pause of a shared PID namespace has it", func(f map[string]string) {
			process(f, 12, 11, "app")
			process(f, 11, 10, "pause")
			f["proc/11/ns/mnt"], f["proc/11/ns/pid"] = inContainer, "-> pid:[2]"
			f["proc/11/cgroup"] = "3:memory:/podctl-1a/besteffort/pod" + uid + "/" + id("a") + "\n"
		}, id("a") + " /: process app (pid 12), shim containerd-shim (pid 10), cgroup " + id("b") + ", cgroup pod" + uid + " (its shim serves /run/c.sock)\n"},
	} {
		files := map[string]string{group + "/" + id("b") + "/cgroup.procs": "12\n", "run/c/netns/cni-x": ""}
		process(files, 5, 1, "/bin/containerd")
		process(files, 10, 1, shim, "-namespace", "k8s.io", "-id", id("a"), "-address", "/run/c.sock")
		process(files, 12, 10, "app")
		c.change(files)
		h := fakeHost(t, files, &mountinfo.Info{Mountpoint: "/run/c/netns/cni-x", FSType: "nsfs", Root: "net:[7]"})
		got := ""
		for line := range strings.Lines(look(h, r)) {
			if !strings.HasPrefix(line, "other ") && !strings.HasPrefix(line, "unlisted network namespace") {
				got += line
			}
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %swant %s", c.name, got, c.want)
		}
	}
}

// A sandbox that is being created is seen by the programs that the runtime has started for it.
func TestProgramsThatWorkOnAContainer(t *testing.T) {
	files := map[string]string{"proc/8/environ": "PATH=/bin\x00CNI_CONTAINERID=" + id("a") + "\x00"}
	process(files, 8, 5, "/usr/lib/cni/bridge")
	process(files, 9, 7, "runc", "--root", "/run/runc", "create", "--bundle", "/run/c/"+id("b"), id("b"))
	s := fakeHost(t, files).Look(Runtime{PID: 5}, nil)
	if got := s.Traces[id("a")].Busy + ", " + s.Traces[id("b")].Busy; got != "CNI plugin bridge (pid 8), runc (pid 9)" {
		t.Errorf("%q", got)
	}
}

func TestOtherRuntimesAreSeen(t *testing.T) {
	for name, args := range map[string][]string{
		"another containerd": {"/usr/bin/containerd"}, "its shim": {"containerd-shim-runc-v2", "-id", "x", "-address", "/run/x.sock"},
		"podman": {"/usr/bin/podman", "run"}, "its conmon": {"conmon", "-c", "x", "--exit-dir", "/run/libpod/exits"},
	} {
		files := map[string]string{}
		process(files, 5, 1, "/usr/bin/containerd")
		if s := fakeHost(t, files).Look(Runtime{PID: 5, Socket: "/run/c.sock"}, nil); s.Other != "" {
			t.Error("no other runtime: not alone")
		}
		process(files, 6, 1, args...)
		if s := fakeHost(t, files).Look(Runtime{PID: 5, Socket: "/run/c.sock"}, nil); s.Other == "" {
			t.Errorf("%s: alone", name)
		}
	}
	if s := fakeHost(t, map[string]string{"run/crio/crio.sock": "", "proc/": ""}).Look(Runtime{Socket: "/run/c.sock"}, nil); s.Other == "" {
		t.Error("another socket: alone")
	}
}

// On the common host nothing but the CNI cache tells of a sandbox that is gone.
func TestLookAtCommonHost(t *testing.T) {
	files := map[string]string{
		"var/lib/cni/results/net-" + id("a") + "-eth0": result(id("a"), "/run/netns/cni-a", ""),
		"var/lib/cni/networks/net/10.0.0.2":            id("a") + "\neth0",
		"var/lib/cni/networks/net/10.0.0.3":            id("b") + "\neth0",
		"run/netns/cni-a":                              "",
		"run/netns/blue":                               "",
		"cgroup/memory/":                               "",
	}
	process(files, 5, 4, "/bin/containerd")
	process(files, 4, 1, "/bin/k3s", "server")
	files["proc/4/comm"] = "k3s-server\n"
	process(files, 9, 1, "app")
	h := fakeHost(t, files, &mountinfo.Info{Mountpoint: "/run/netns/cni-a", FSType: "nsfs", Root: "net:[4026532178]"},
		&mountinfo.Info{Mountpoint: "/run/netns/blue", FSType: "nsfs", Root: "net:[4026532179]"})
	r := Runtime{Socket: "/run/c.sock", PID: 5, StateDir: "/run/c", NamespaceDir: "/run/netns", Networks: []string{leaseDir + "/net"}}
	want := id("a") + " default/web: network namespace cni-a, address 10.0.0.2 of network net (it was made through the CRI, and no other runtime is seen on this host)\n" +
		id("b") + " /: address 10.0.0.3 of network net (likely this runtime's, which has the network net: no other runtime is seen on this host; assumed)\n"
	if got := look(h, r); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	unlisted := "unlisted network namespace cni-a\nunlisted address 10.0.0.2 of network net\n"
	plantNamespaces(t, string(h.Procs), 9, "net:[4026532178]")
	if got := look(h, r, id("b")); got != unlisted {
		t.Errorf("with a process in it: %s", got)
	}
	hidden := filepath.Join(string(h.Procs), fmt.Sprint(os.Getpid()), "ns/pid")
	if err := errors.Join(os.Remove(hidden), os.Symlink("pid:[4026532999]", hidden)); err != nil {
		t.Fatal(err)
	}
	if got := look(h, r, id("b")); got != unlisted+"other podctl does not see the processes of the host's PID namespace\n" {
		t.Errorf("in a PID namespace: %s", got)
	}
}

// What is only likely to be this runtime's is left to a human.
func TestAssumedLeakIsNotRemoved(t *testing.T) {
	l := Leak{ID: id("a"), Assumed: true, Things: []Thing{{Kind: Lease, ID: id("a"), Path: "/leases/net/10.0.0.2"}, {Kind: Lease, ID: id("a"), Path: "/leases/it's/::2"}}}
	r := Remover{Host: fakeHost(t, nil), Step: func(call string, _ error) { t.Errorf("step: %s", call) }}
	err := r.Remove(t.Context(), l, l)
	if want := "grep -lZ " + id("a") + ` '/leases/net/10.0.0.2' '/leases/it'\''s/::2' | xargs -0r rm removes it`; hint.Of(err) != want {
		t.Errorf("%v: %s", err, hint.Of(err))
	}
}

// A lease is a regular file; what cannot be read is said.
func TestLeasesThatAreNotRead(t *testing.T) {
	h := fakeHost(t, map[string]string{"var/lib/cni/networks/net/lock": "", "var/lib/cni/networks/net/10.0.0.3": "", "var/lib/cni/networks/file": ""})
	for name, create := range map[string]func(path string) error{
		"10.0.0.2": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"10.0.0.4": func(path string) error { return os.Symlink("/etc/hostname", path) },
		"10.0.0.5": func(path string) error { return os.WriteFile(path, make([]byte, maxLeaseFile+1), 0o600) },
	} {
		if err := create(filepath.Join(h.Root, leaseDir, "net", name)); err != nil {
			t.Fatal(err)
		}
	}
	s := h.Look(Runtime{}, nil)
	var unread []string
	for _, why := range s.Unread {
		if path, _, ok := strings.Cut(why, " cannot be read: "); ok && strings.HasPrefix(path, leaseDir) {
			unread = append(unread, filepath.Base(path))
		}
	}
	slices.Sort(unread)
	if got := strings.Join(unread, " "); got != "10.0.0.2 10.0.0.4 10.0.0.5" || len(s.Things) > 0 {
		t.Errorf("unread %q, things %v", got, s.Things)
	}
}

func TestRemoveLease(t *testing.T) {
	const path = "/leases/net/10.0.0.2"
	lease := Thing{Kind: Lease, ID: id("a"), Path: path, Name: "10.0.0.2 of network net"}
	for _, c := range []struct {
		name, text, want string
		lock, remains    bool
	}{
		{"as it was read", id("a") + "\neth0", "", true, false},
		{"another sandbox has it now", id("b") + "\neth0", errChanged.Error(), true, true},
		{"without host-local's lock", id("a"), "host-local has no lock at ", false, true},
	} {
		files := map[string]string{path: c.text}
		if c.lock {
			files["/leases/net/lock"] = ""
		}
		h := fakeHost(t, files)
		r := Remover{Host: h, Step: func(string, error) {}}
		err := r.Remove(t.Context(), Leak{Things: []Thing{lease}}, Leak{Things: []Thing{lease}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := os.Lstat(filepath.Join(h.Root, path)); (err == nil) != c.remains {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What only the second look has found is left alone, and a dry run removes nothing.
func TestRemoveWhatBothLooksFound(t *testing.T) {
	h := fakeHost(t, map[string]string{"cgroup/memory/podx/a/": "", "cgroup/pids/podx/a/": "", "cgroup/memory/podx/b/": ""})
	a, b := Thing{Kind: Cgroup, Path: "/podx/a"}, Thing{Kind: Cgroup, Path: "/podx/b"}
	var steps []string
	r := Remover{Host: h, DryRun: true, Step: func(call string, _ error) { steps = append(steps, call) }}
	for _, r.DryRun = range []bool{true, false} {
		if err := r.Remove(context.Background(), Leak{Things: []Thing{a}}, Leak{Things: []Thing{a, b}}); err != nil {
			t.Fatal(err)
		}
		left, _ := filepath.Glob(filepath.Join(h.Cgroups, "*/podx/*"))
		if want := map[bool]int{true: 3, false: 1}[r.DryRun]; len(left) != want {
			t.Errorf("dry run %v: left %v", r.DryRun, left)
		}
	}
	if got := strings.Join(steps, ", "); got != "remove cgroup /podx/a, remove cgroup /podx/a" {
		t.Errorf("%q", got)
	}
}

// A cgroup with a process, in whichever hierarchy, is removed from none.
func TestCgroupInUseRemains(t *testing.T) {
	h := fakeHost(t, map[string]string{"cgroup/memory/podx/": "", "cgroup/pids/podx/a/cgroup.procs": "7\n"})
	r := Remover{Host: h, Step: func(string, error) {}}
	x := Leak{Things: []Thing{{Kind: Cgroup, Path: "/podx"}}}
	if err := r.Remove(t.Context(), x, x); err == nil || !strings.HasSuffix(err.Error(), "process 7 is in it") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(h.Cgroups, "memory/podx")); err != nil {
		t.Error(err)
	}
}

// A process is killed only if it is the one that was found.
func TestProcessOfAReusedPIDIsNotKilled(t *testing.T) {
	files := map[string]string{}
	process(files, os.Getpid(), 1, "app")
	files[fmt.Sprintf("proc/%d/cgroup", os.Getpid())] = "0::/elsewhere\n"
	r := Remover{Host: fakeHost(t, files), Step: func(string, error) {}}
	for _, c := range []struct {
		thing Thing
		want  string
	}{
		{Thing{Kind: Process, PID: os.Getpid(), Start: 7, Path: "/podx/a"}, ""},
		{Thing{Kind: Process, PID: os.Getpid(), Path: "/podx/a"}, errChanged.Error()},
		{Thing{Kind: Shim, PID: os.Getpid(), ID: id("a")}, errChanged.Error()},
	} {
		l := Leak{Things: []Thing{c.thing}}
		if err := r.Remove(t.Context(), l, l); (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.thing, err)
		}
	}
}

func TestPlacesOfRuntime(t *testing.T) {
	r := newRuntime(cri.ReadRuntimeConfig(map[string]string{
		"config": `{"stateDir": "/run/c/io.containerd.grpc.v1.cri", "netnsMountsUnderStateDir": true}`,
		"cniconfig": `{"Networks":[{"Config":{"Name":"net","Plugins":[
			{"Network":{"type":"bridge"},"Source":"{\"type\":\"bridge\",\"ipam\":{\"type\":\"host-local\",\"dataDir\":\"/data/\"}}"}]}},
			{"Config":{"Name":"default","Plugins":[{"Source":"{\"ipam\":{\"type\":\"host-local\"}}"}]}},
			{"Config":{"Name":"../net","Plugins":[{"Source":"{\"ipam\":{\"type\":\"host-local\"}}"}]}},
			{"Config":{"Name":"other","Plugins":[{"Source":"{\"ipam\":{\"type\":\"dhcp\",\"dataDir\":\"/dhcp\"}}"}]}}]}`,
	}))
	if r.StateDir != "/run/c" || r.NamespaceDir != "/run/c/io.containerd.grpc.v1.cri/netns" || !r.OwnNamespaces || !slices.Equal(r.Networks, []string{"/data/net", leaseDir + "/default"}) {
		t.Errorf("%+v", r)
	}
	r = newRuntime(cri.ReadRuntimeConfig(map[string]string{"config": `{"crio": {"ContainerExitsDir": "/run/exits", "NamespacesDir": "/var/run"}}`}))
	if r.ExitDir != "/run/exits" || r.NamespaceDir != "/run/netns" || r.OwnNamespaces {
		t.Errorf("%+v", r)
	}
	if r := newRuntime(cri.ReadRuntimeConfig(map[string]string{"config": "[", "cniconfig": "["})); r.StateDir+r.ExitDir != "" {
		t.Errorf("%+v", r)
	}
}

// What a pod leaves for a moment while it is removed is not reported.
func TestSettle(t *testing.T) {
	now := noon
	f := Finder{Now: func() time.Time { return now }}
	stays, goes := Leak{ID: "a", Things: []Thing{{Kind: Shim, PID: 1}}}, Leak{ID: "b", Things: []Thing{{Kind: Shim, PID: 2}}}
	if got := f.settledLeaks(Findings{Leaks: []Leak{stays, goes}}); len(got) > 0 {
		t.Errorf("at once: %v", got)
	}
	now = now.Add(removalTime)
	stays.Things[0].Since = noon
	if got := f.settledLeaks(Findings{Leaks: []Leak{stays}}); len(got) != 1 {
		t.Errorf("later: %v", got)
	}
	goes.Things[0].Start = 9 // another process of the PID
	if got := f.settledLeaks(Findings{Leaks: []Leak{stays, goes}}); len(got) != 1 {
		t.Errorf("another: %v", got)
	}
}

// A shim may exit because its container was killed a moment before.
func TestShimThatHasExitedIsRemoved(t *testing.T) {
	files := map[string]string{}
	process(files, os.Getpid(), 1, "conmon")
	files[fmt.Sprintf("proc/%d/cmdline", os.Getpid())] = ""
	r := Remover{Host: fakeHost(t, files), Step: func(string, error) {}}
	l := Leak{Things: []Thing{{Kind: Shim, PID: os.Getpid(), ID: id("a")}}}
	if err := r.Remove(t.Context(), l, l); err != nil {
		t.Error(err)
	}
}
