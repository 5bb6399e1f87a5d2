package target

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

// twinID is the container of a second pod.
var twinID = strings.Repeat("2c", 32)

// fakeProc is a /proc with a container's process (40) of the pod web below its shim (30), a
// daemon (20), a process that says it is the shim of another (31), a zombie (50) that has no namespaces, and a process of the pod twin (60).
func fakeProc(t *testing.T, boxID, appID string) proc.FS {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) { write(t, root, name, text) }
	link := func(name, to string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	for pid, of := range map[string][4]string{ // comm, parent, cgroup, user namespace
		"1":  {"init", "0", "/init.scope", "user:[1]"},
		"20": {"sshd", "1", "/system.slice/ssh.service", "user:[1]"},
		"30": {"containerd-shim", "1", "/system.slice/containerd.service", "user:[1]"},
		"31": {"containerd-shim", "1", "/docker/x", "user:[2]"},
		"40": {"nginx", "30", "/kubepods/pod1/" + appID, "user:[2]"},
		"41": {"nginx", "40", "/kubepods/pod1/" + appID, "user:[2]"},
	} {
		write(pid+"/stat", pid+" ("+of[0]+") S "+of[1]+" 1")
		write(pid+"/status", "")
		write(pid+"/cgroup", "4:memory:"+of[2]+"\n0::/\n")
		link(pid+"/ns/user", of[3])
		link(pid+"/ns/mnt", "mnt:[1]")
		link(pid+"/ns/pid", "pid:[1]")
		link(pid+"/root", "/")
	}
	write("60/stat", "60 (twin) S 1 1")
	write("60/cgroup", "0::/kubepods/pod2/"+twinID+"\n")
	link("60/ns/user", "user:[1]")
	write("60/status", "")
	write("50/stat", "50 (gone) Z 1 1")
	for _, pid := range []string{"30", "31"} {
		write(pid+"/cmdline", "containerd-shim-runc-v2\x00-id\x00"+boxID+"\x00")
	}
	return proc.FS(root)
}

func TestPropertiesByProcesses(t *testing.T) {
	boxID, appID := strings.Repeat("0a", 32), strings.Repeat("1b", 32)
	web := &view.Pod{Metadata: view.Metadata{UID: "1", Namespace: "default", Name: "web"}, Runtime: &pod.Pod{
		UID: "1", Namespace: "default", Name: "web",
		Sandboxes: []*pod.Sandbox{{ID: boxID}}, Containers: []*pod.Container{{ID: appID, Name: "app"}},
	}}
	l := &Locator{Pods: []*view.Pod{web}, Procs: fakeProc(t, boxID, appID), Server: 20, Cgroups: t.TempDir()}
	for word, want := range map[string]string{
		"pid:40": "default/web/app", "pid:41": "default/web/app", "pid:30": "default/web",
		"pid:31": "process 31 (containerd-shim) is of no pod of this runtime: its cgroup is /docker/x",
		"pid:20": "process 20 (sshd) is of no pod of this runtime: its cgroup is /system.slice/ssh.service",
		"pid:1":  "process 1 (init) is of no pod of this runtime: its cgroup is /init.scope",
		"pid:99": "read process 99: no such process",
		"pid:x":  "pid:x is not a PID", "pid:-1": "pid:-1 is not a PID", "pid:": "pid: names no pod",
		"port:8080/udp": "the runtime forwards port 8080/UDP to no pod",
		"port:http":     `port:http: "http" is not a port: 8080, or 53/udp`,
		"ip:web":        "ip:web is not an IP address",
	} {
		p, _ := ParseProperty(word)
		found, err := l.Find(t.Context(), p)
		got := ""
		if err != nil {
			got = err.Error()
		} else if len(found) == 1 {
			got = found[0].DisplayName()
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", word, got, want)
		}
	}
}

// One manifest on two runtimes is two pods of one UID: each property names the pod of the runtime that
// is asked, by what is of that pod's containers, and nothing of the other one's.
func TestPropertiesOfTwinsOnTwoRuntimes(t *testing.T) {
	const uid, other = "8f735a4c-0000-4000-8000-000000000001", "/podctl-bb/besteffort/pod8f735a4c-0000-4000-8000-000000000001"
	const own, shared = "/podctl-aa/besteffort/pod" + uid, "/kubepods/pod" + uid
	ownID, otherID := strings.Repeat("1b", 32), strings.Repeat("2c", 32)
	pods := func(group string) *Locator {
		mounts := t.TempDir()
		for _, path := range []string{group + "/" + ownID, other + "/" + otherID, group + "/" + ownID + "/" + shared} {
			if err := os.MkdirAll(filepath.Join(mounts, "memory", path), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return &Locator{Cgroups: mounts, Procs: proc.FS(t.TempDir()), Pods: []*view.Pod{{Metadata: view.Metadata{UID: uid, Namespace: "default", Name: "web"}, Runtime: &pod.Pod{
			UID: uid, Namespace: "default", Name: "web", Containers: []*pod.Container{{ID: ownID, Name: "app"}},
		}}}}
	}
	for _, c := range []struct {
		word, root, want string
	}{
		{"cgroup:" + own, own, "default/web"},
		{"cgroup:/sys/fs/cgroup/memory" + own, own, "default/web"},
		{"cgroup:" + own + "/" + ownID, own, "default/web/app"},
		{"cgroup:" + own + "/helper.scope", own, "default/web"},
		{"cgroup:" + other, own, ""},
		{"cgroup:" + other + "/" + otherID, own, ""},
		{"cgroup:/docker/" + otherID + own, own, ""},
		{"cgroup:/user.slice" + own, own, ""},
		{"cgroup:/sys/fs/cgroup/user.slice/x" + own, own, ""},
		// Two kubelets, or --cgroup-root, may share the pod's cgroup.
		{"cgroup:" + shared + "/" + otherID, shared, ""},
		// The parent of a container is no pod's where pods have none.
		{"cgroup:/all/helper.scope", "/all", ""},
		{"cgroup:" + shared + "/cri-containerd-" + otherID + ".scope", shared, ""},
		{"cgroup:" + own + "/" + ownID + "/pod" + uid + "/" + otherID, own, "default/web/app"},
		{"container:" + ownID, own, "default/web/app"},
		{"container:" + otherID, own, ""},
	} {
		p, _ := ParseProperty(c.word)
		found, err := pods(c.root).Find(t.Context(), p)
		got := ""
		if err == nil {
			got = found[0].DisplayName()
		}
		if got != c.want {
			t.Errorf("%s of a pod in %s: %q, %v, want %q", c.word, c.root, got, err, c.want)
		}
	}
	l := pods(own)
	for _, c := range []struct {
		process Process
		want    string
	}{
		{Process{Cgroups: []string{own + "/" + ownID}}, "default/web/app"},
		{Process{Cgroups: []string{own}}, "default/web"},
		{Process{Cgroups: []string{other + "/" + otherID}}, ""},
		{Process{Cgroups: []string{other}}, ""},
		{Process{Cgroups: []string{"/system.slice"}, Shim: true, Args: []string{"-id", otherID}}, ""},
	} {
		of, err := findByPID(l.Pods, l.podGroups(), ancestry{c.process})
		if (err == nil) != (c.want != "") || c.want != "" && of.DisplayName() != c.want {
			t.Errorf("%v: %v, %v; want %q", c.process, of, err, c.want)
		}
	}
	// The addresses of a pod are those that its runtime reports, whatever its UID.
	if got, err := findByIP([]Addresses{{Pod: l.Pods[0], IPs: []string{"10.88.0.2"}}}, nil, netip.MustParseAddr("10.88.1.2")); err == nil {
		t.Errorf("by the address of the other one: %v", got)
	}
	// Of two pods of one UID in one runtime the cgroup is of neither.
	twinID := strings.Repeat("3d", 32)
	twin := &view.Pod{Metadata: view.Metadata{UID: uid, Name: "twin"}, Runtime: &pod.Pod{UID: uid, Containers: []*pod.Container{{ID: twinID}}}}
	if err := os.MkdirAll(filepath.Join(l.Cgroups, "memory", own, twinID), 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := cgroup.Scan(l.Cgroups)
	if groups := podCgroupsOf(append(l.Pods, twin), tree); err != nil || len(groups) != 0 {
		t.Errorf("of two pods: %v, %v", groups, err)
	}
}
