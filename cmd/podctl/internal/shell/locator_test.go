package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/proc"
)

// twinID is the container of a second pod.
var twinID = strings.Repeat("2c", 32)

// fakeProc is a /proc with a container's process (40) of the pod web below its shim (30), a
// daemon (20), a zombie (50) that has no namespaces, and a process of the pod twin (60), which
// listens on port 9090 as one of web does.
func fakeProc(t *testing.T, boxID, appID string) proc.FS {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, to string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	for pid, of := range map[string][5]string{ // comm, parent, cgroup, user namespace, socket
		"1":  {"init", "0", "/init.scope", "user:[1]", "1"},
		"20": {"sshd", "1", "/system.slice/ssh.service", "user:[1]", "22"},
		"30": {"containerd-shim", "1", "/system.slice/containerd.service", "user:[1]", "2"},
		"40": {"nginx", "30", "/kubepods/pod1/" + appID, "user:[2]", "8080"},
		"41": {"nginx", "40", "/kubepods/pod1/" + appID, "user:[2]", "8080"},
	} {
		write(pid+"/stat", pid+" ("+of[0]+") S "+of[1]+" 1")
		write(pid+"/status", "")
		write(pid+"/cgroup", "4:memory:"+of[2]+"\n0::/\n")
		write(pid+"/uid_map", map[bool]string{true: "0 838860800 65536\n", false: "0 0 4294967295\n"}[of[3] == "user:[2]"])
		link(pid+"/ns/user", of[3])
		link(pid+"/fd/3", "socket:["+of[4]+"]")
	}
	write("60/stat", "60 (twin) S 1 1")
	write("60/cgroup", "0::/kubepods/pod2/"+twinID+"\n")
	link("60/ns/user", "user:[1]")
	write("60/status", "")
	link("60/fd/3", "socket:[9091]")
	link("40/fd/4", "socket:[9090]")
	write("50/stat", "50 (gone) Z 1 1")
	write("30/cmdline", "containerd-shim-runc-v2\x00-id\x00"+boxID+"\x00")
	write("1/net/tcp", "  sl\n 0: 00000000:1F90 00000000:0000 0A 0:0 00:0 0 0 0 8080 1\n 1: 00000000:0016 00000000:0000 0A 0:0 00:0 0 0 0 22 1\n"+
		" 2: 00000000:2382 00000000:0000 0A 0:0 00:0 0 0 0 9090 1\n 3: 00000000:2382 00000000:0000 0A 0:0 00:0 0 0 0 9091 1\n")
	return proc.FS(root)
}

func TestPropertiesByProcesses(t *testing.T) {
	boxID, appID := strings.Repeat("0a", 32), strings.Repeat("1b", 32)
	web := &inventory.Pod{UID: "1", Namespace: "default", Name: "web", Runtime: &pod.Pod{
		UID: "1", Namespace: "default", Name: "web",
		Sandboxes: []*pod.Sandbox{{ID: boxID}}, Containers: []*pod.Container{{ID: appID, Name: "app"}},
	}}
	l := &locator{ctx: t.Context(), env: &Env{Procs: fakeProc(t, boxID, appID)}, session: &Session{Pods: []*inventory.Pod{web}}}
	for word, want := range map[string]string{
		"pid:40": "default/web/app", "pid:41": "default/web/app", "pid:30": "default/web",
		"pid:20": "process 20 (sshd) is of no pod of this runtime: its cgroup is /system.slice/ssh.service",
		"pid:1":  "process 1 (init) is of no pod of this runtime: its cgroup is /init.scope",
		"pid:99": "read process 99: no such process",
		"pid:x":  "pid:x is not a PID", "pid:-1": "pid:-1 is not a PID", "pid:": "pid: names no pod",
		"uid:838926332": "default/web", "uid:0": "no pod that runs has a user namespace with the host's uid 0", "uid:-1": "uid:-1 is not a user id",
		"port:8080": "default/web/app", "port:22": "port 22: process 20 (sshd) is of no pod of this runtime: its cgroup is /system.slice/ssh.service",
		"port:8080/udp": "no pod has the host port 8080/UDP, and no process is seen that listens on it",
		"port:http":     `port:http: "http" is not a port: 8080, or 53/udp`,
		"ip:web":        "ip:web is not an IP address",
	} {
		p, _ := target.ParseProperty(word)
		found, err := l.find(p)
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

// A command that takes no patterns, such as stop, means one pod by a word.
func TestPropertyOfSeveralPods(t *testing.T) {
	boxID, appID := strings.Repeat("0a", 32), strings.Repeat("1b", 32)
	of := func(uid, name, id string) *inventory.Pod {
		return &inventory.Pod{UID: types.UID(uid), Namespace: "default", Name: name, Runtime: &pod.Pod{
			UID: types.UID(uid), Namespace: "default", Name: name, Containers: []*pod.Container{{ID: id, Name: "app"}},
		}}
	}
	l := &locator{
		ctx: t.Context(), env: &Env{Procs: fakeProc(t, boxID, appID)},
		session: &Session{Pods: []*inventory.Pod{of("1", "web", appID), of("2", "twin", twinID)}},
	}
	for _, test := range []struct {
		args cmdline.Args
		want string
	}{
		{cmdline.Args{Of: cmdline.Target, Many: true, Patterns: true}, appID + " " + twinID},
		{cmdline.Args{Of: cmdline.Target, Many: true}, `"port:9090" is ambiguous: default/web/app, default/twin/app`},
		{cmdline.Args{Of: cmdline.Target, Patterns: true}, `"port:9090" is ambiguous: default/web/app, default/twin/app`},
	} {
		l.args = test.args
		words, err := l.locate("port:9090")
		got := strings.Join(words, " ")
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: %s", test.args, got)
		}
	}
}

func TestCutPlace(t *testing.T) {
	for word, want := range map[string][2]string{
		"pid:12:/etc/hosts": {"pid:12", ":/etc/hosts"}, "ip:10.0.0.1:a:b": {"ip:10.0.0.1", ":a:b"}, "ip:[fd00::1]:/a": {"ip:[fd00::1]", ":/a"},
		"pid:hosts": {"pid:hosts", ""}, "pid::x": {"pid::x", ""}, "cgroup:/a/b:c": {"cgroup:/a/b", ":c"},
	} {
		if property, path := cutPlace(word); property != want[0] || path != want[1] {
			t.Errorf("%s: %q %q, want %q", word, property, path, want)
		}
	}
}
