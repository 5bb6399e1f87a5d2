package view

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// A process of the pod itself and the runtime, which may hold the port for the pod, are not foreign.
func TestTakenPortsAreThoseOfForeignProcesses(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, target string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	link("self/ns/pid", "pid:[1]")
	var table strings.Builder
	table.WriteString("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n")
	for pid, p := range map[int]struct {
		port  int
		group string
	}{10: {9000, "/system.slice/containerd.service"}, 41: {8080, "/kubepods/podu-1/c1"}, 50: {8081, "/system.slice/nginx.service"}, 51: {9999, "/user.slice"}} {
		write(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (p%d) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 %s", pid, pid, strings.Repeat("0 ", 30)))
		write(fmt.Sprintf("%d/status", pid), "Name:\ta\n")
		write(fmt.Sprintf("%d/cgroup", pid), "0::"+p.group+"\n")
		link(fmt.Sprintf("%d/fd/3", pid), fmt.Sprintf("socket:[%d]", 1000+pid))
		link(fmt.Sprintf("%d/ns/pid", pid), "pid:[1]")
		fmt.Fprintf(&table, "   0: 00000000:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 %d 1 0 100 0 0 10 0\n", p.port, 1000+pid)
	}
	write("10/net/tcp", table.String())
	object := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Ports: []v1.ContainerPort{
		{ContainerPort: 80, HostPort: 8080}, {ContainerPort: 81, HostPort: 8081}, {ContainerPort: 9000, HostPort: 9000}, {ContainerPort: 9999}, {ContainerPort: 1, HostPort: 8081, Protocol: v1.ProtocolUDP},
	}}}}}
	p := &Pod{Metadata: Metadata{UID: "u-1"}, Object: object, Runtime: &pod.Pod{UID: "u-1"}, Containers: []Container{{Name: "c", ID: "c1"}}}
	r := &Reader{Asker: owners.Asker{Procs: proc.FS(root)}, Server: cri.Server{PID: 10}}
	r.readTakenPorts(p)
	if want := []TakenPort{{"c", 8081, "TCP", 50, "p50"}}; !reflect.DeepEqual(p.TakenPorts, want) {
		t.Errorf("%+v, want %+v", p.TakenPorts, want)
	}
	object.Spec.HostNetwork, p.TakenPorts = true, nil
	if r.readTakenPorts(p); len(p.TakenPorts) != 2 || p.TakenPorts[1].Port != 9999 {
		t.Errorf("on the host's network: %+v", p.TakenPorts)
	}
	ended := object.DeepCopy()
	ended.Status.Phase = v1.PodFailed
	ofKubelet := func(object *v1.Pod) *Pod {
		return &Pod{Metadata: Metadata{UID: "u-1"}, Object: object, Verdict: owners.Verdict{Kind: owners.ByKubelet}}
	}
	found := r.TakenPorts(t.Context(), []*Pod{ofKubelet(object), ofKubelet(ended), ofKubelet(&v1.Pod{}), {Metadata: Metadata{UID: "u-2"}, Runtime: &pod.Pod{UID: "u-2"}}})
	if len(found) != 1 || len(found[0].TakenPorts) != 2 {
		t.Errorf("of all pods: %+v", found)
	}
}
