package view

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// fakeProcess writes a process below a directory that stands for /proc.
func fakeProcess(t *testing.T, root string, pid, parent int, comm string, state byte, files map[string]string) {
	t.Helper()
	all := map[string]string{
		"stat":   fmt.Sprintf("%d (%s) %c %d 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 1", pid, comm, state, parent),
		"status": "Name:\tx\n", fmt.Sprintf("task/%d/stat", pid): fmt.Sprintf("%d (%s) %c %d 1", pid, comm, state, parent),
	}
	maps.Copy(all, files)
	for name, text := range all {
		path := filepath.Join(root, fmt.Sprint(pid), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// linkNamespaces lets processes share podctl's PID, mount and user namespaces, and its root.
func linkNamespaces(t *testing.T, root string, pids ...string) {
	t.Helper()
	for _, pid := range append(pids, "self") {
		dir := filepath.Join(root, pid, "ns")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/", filepath.Join(root, pid, "root")); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"pid", "mnt", "user"} {
			if err := os.Symlink(kind+":[1]", filepath.Join(dir, kind)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestScanFindsWhatWorksForAPod(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "stat"), []byte("btime 1000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := "CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=uid-1;K8S_POD_INFRA_CONTAINER_ID=5b"
	fakeProcess(t, root, 10, 1, "containerd", 'S', nil)
	fakeProcess(t, root, 11, 10, "sh", 'S', map[string]string{"environ": "SECRET=x\x00CNI_COMMAND=ADD\x00" + args + "\x00CNI_CONTAINERID=5b", "cmdline": "/bin/sh\x00/opt/cni/bin/slow\x00"})
	fakeProcess(t, root, 12, 10, "unpigz", 'S', map[string]string{"environ": "A=b"})
	fakeProcess(t, root, 20, 1, "containerd-shim", 'T', map[string]string{
		"cmdline":         "/usr/bin/containerd-shim-runc-v2\x00-namespace\x00k8s.io\x00-id\x005c",
		"cwd/config.json": `{"annotations":{"io.kubernetes.cri.sandbox-uid":"uid-2","io.kubernetes.cri.sandbox-namespace":"default","io.kubernetes.cri.sandbox-name":"db"}}`,
	})
	fakeProcess(t, root, 21, 20, "runc", 'S', map[string]string{
		"cmdline": "runc\x00create\x00--bundle\x00/b\x005d", "task/22/stat": "22 (runc) D 1 1", "task/22/wchan": "nfs_wait_bit_killable",
	})
	fakeProcess(t, root, 23, 20, "runc", 'S', map[string]string{"cmdline": "runc\x00exec\x005d"})
	fakeProcess(t, root, 30, 1, "mount.nfs", 'S', map[string]string{"cmdline": "mount.nfs\x00server:/a\x00/var/lib/kubelet/pods/uid-3/volumes/v"})
	// A container's own program, which says that it is the shim of another pod.
	fakeProcess(t, root, 40, 39, "conmon", 'T', map[string]string{
		"cmdline":       "conmon\x00-c\x005c\x00-b\x00" + root + "/40/b",
		"b/config.json": `{"annotations":{"io.kubernetes.pod.uid":"uid-2","io.kubernetes.pod.namespace":"default","io.kubernetes.pod.name":"db"}}`,
	})
	if err := errors.Join(os.Mkdir(filepath.Join(root, "40/ns"), 0o755), os.Symlink("mnt:[2]", filepath.Join(root, "40/ns/mnt"))); err != nil {
		t.Fatal(err)
	}
	linkNamespaces(t, root, "10", "20")
	c := &Reader{Asker: owners.Asker{Procs: proc.FS(root)}, Server: cri.Server{PID: 10}, Now: func() time.Time { return now }}
	s := c.Scan(t.Context())
	if s.hidden != nil {
		t.Fatal(s.hidden)
	}
	web := &Pod{Metadata: Metadata{UID: "uid-1", Namespace: "default", Name: "web"}}
	db := &Pod{Metadata: Metadata{UID: "uid-2", Namespace: "default", Name: "db"}, Runtime: &pod.Pod{UID: "uid-2", Sandboxes: []*pod.Sandbox{{ID: "5c"}}, Containers: []*pod.Container{{ID: "5d", Name: "c"}}}}
	nfs := &Pod{Metadata: Metadata{UID: "uid-3", Namespace: "default", Name: "nfs"}}
	for _, want := range []struct {
		pod *Pod
		has string
	}{{web, "cni:11:sh: "}, {db, "shim:20:containerd-shim-runc-v2: oci:21:runc:nfs_wait_bit_killable "}, {nfs, "mount:30:mount.nfs: "}, {&Pod{Metadata: Metadata{UID: "uid-4", Name: "x"}}, ""}} {
		got := ""
		for _, role := range []Role{RoleCNI, RoleShim, RoleOCI, RoleMount} {
			for _, h := range s.helpers {
				if h.Role == role && isOfPod(&h, want.pod) {
					got += fmt.Sprintf("%s:%d:%s:%s ", h.Role, h.PID, h.Program(), h.WaitChannel)
				}
			}
		}
		if got != want.has {
			t.Errorf("%s: %q, want %q", want.pod.Name, got, want.has)
		}
	}
	unlisted := c.UnlistedStarts(s, []*Pod{db})
	if len(unlisted) != 1 || unlisted[0].UID != "uid-1" || unlisted[0].DisplayName() != "default/web" || unlisted[0].Kind() != KindOther {
		t.Errorf("%+v", unlisted)
	}
	hidden := &Reader{Asker: owners.Asker{Procs: proc.FS(root)}, Server: cri.Server{}}
	if s := hidden.Scan(t.Context()); s.hidden == nil || len(s.helpers) > 0 {
		t.Errorf("without a server: %+v", s)
	}
}

// Only what a thread waits for at each look is a hang: a busy disk lets every thread wait for
// a moment.
func TestWaitsThatEndAreNoHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		fakeProcess(t, root, 10, 1, "crio", 'S', nil)
		for pid, wait := range map[int]string{21: "D", 22: "D", 23: "S"} {
			fakeProcess(t, root, pid, 10, "runc", 'S', map[string]string{
				"cmdline": fmt.Sprintf("runc\x00create\x00%d", pid), fmt.Sprintf("task/%d/stat", pid): fmt.Sprintf("%d (runc) %s 1 1", pid, wait),
				fmt.Sprintf("task/%d/wchan", pid): "io_schedule",
			})
		}
		linkNamespaces(t, root, "10")
		time.AfterFunc(300*time.Millisecond, func() {
			fakeProcess(t, root, 22, 10, "runc", 'S', map[string]string{"task/22/wchan": "0"})
		})
		c := &Reader{Asker: owners.Asker{Procs: proc.FS(root)}, Server: cri.Server{PID: 10}, Now: time.Now}
		got := map[int]string{}
		for _, h := range c.Scan(t.Context()).helpers {
			got[h.PID] = fmt.Sprint(h.Blocked, h.WaitChannel)
		}
		if want := map[int]string{21: "trueio_schedule", 22: "false", 23: "falseio_schedule"}; !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var p paths
	for kind, want := range map[string]string{
		"Directory /": "", "Directory /file": "is no Directory", "File /file": "", "Directory /no": "does not exist", "DirectoryOrCreate /no": "", " /no": "", "Socket /file": "is no Socket",
	} {
		kindOf, path, _ := strings.Cut(kind, " ")
		wrong := p.check(t.Context(), dir, []Volume{{Name: "v", Kind: "hostPath", Source: path, Type: kindOf}})
		got := ""
		if len(wrong) > 0 {
			got = wrong[0].Problem
		}
		if got != want {
			t.Errorf("%q: %q, want %q", kind, got, want)
		}
	}
}
