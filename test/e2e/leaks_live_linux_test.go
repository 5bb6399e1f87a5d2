package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/test/live"
)

// leakFinder looks for leaks as `podctl orphans` does, ten minutes later.
func leakFinder(t *testing.T, rt *live.Instance) *leak.Finder {
	t.Helper()
	client, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: rt.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &leak.Finder{
		Client: client, Host: leak.DefaultHost(), CgroupRoot: rt.CgroupRoot(),
		Now: func() time.Time { return time.Now().Add(10 * time.Minute) },
	}
}

// find is what a finder finds, by pod or id.
func find(t *testing.T, f *leak.Finder) (found leak.Findings, byName map[string]leak.Leak) {
	t.Helper()
	found, err := f.Find(t.Context(), &leak.Known{})
	if err != nil {
		t.Fatal(err)
	}
	if !found.Examined {
		t.Fatalf("not looked for: %v", found.Unread)
	}
	byName = map[string]leak.Leak{}
	for _, l := range found.Leaks {
		name := l.Pod.Name
		if name == "" {
			name = l.ID
		}
		byName[name] = l
	}
	return found, byName
}

// kinds are how many things of each kind a leak has.
func kinds(l leak.Leak) string {
	var parts []string
	for _, k := range leak.Kinds() {
		if n := len(l.Of(k)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	return strings.Join(parts, ", ")
}

// forget makes the runtime lose its records of all pods, as after a disk that failed: it is
// killed, and starts over its state without them. meanwhile is done before that.
func forget(t *testing.T, rt *live.Instance, meanwhile ...func()) {
	t.Helper()
	records, empty := filepath.Join("/var/lib/podctl-dev", rt.Name, "root/io.containerd.metadata.v1.bolt/meta.db"), ""
	if rt.Kind == live.CRIO || rt.Kind == live.CRIOEvents {
		records, empty = filepath.Join("/var/lib/podctl-dev", rt.Name, "storage/overlay-containers/volatile-containers.json"), "[]"
	}
	rt.Kill(t)
	for _, do := range meanwhile {
		do()
	}
	if err := os.Remove(records); err != nil {
		t.Fatal(err)
	}
	if empty != "" {
		if err := os.WriteFile(records, []byte(empty), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rt.Start(t)
}

// plantNetwork makes a network namespace and an address of a sandbox that does not exist, as a
// runtime leaves them that is killed in between, and returns the sandbox's id.
func plantNetwork(t *testing.T, rt *live.Instance) string {
	t.Helper()
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(rt.Name)))
	run, lib := filepath.Join("/run/podctl-dev", rt.Name), filepath.Join("/var/lib/podctl-dev", rt.Name)
	netns := filepath.Join(run, "state/io.containerd.grpc.v1.cri/netns/cni-planted")
	if strings.HasPrefix(rt.Kind, live.CRIO) {
		netns = filepath.Join(run, "ns/netns/planted")
	}
	network := "podctl-" + rt.Name
	result := filepath.Join("/var/lib/cni/results", network+"-"+id+"-eth0")
	lease := filepath.Join(lib, "cni", network, "10.201.255.250")
	for path, text := range map[string]string{
		netns: "", lease: id + "\r\neth0",
		result: fmt.Sprintf(`{"containerId":%q,"netns":%q,"cniArgs":[["K8S_POD_INFRA_CONTAINER_ID",%q],["K8S_POD_NAMESPACE","default"],["K8S_POD_NAME","planted"]]}`, id, netns, id),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Remove(result) })
	if out, err := exec.Command("unshare", "-n", "mount", "--bind", "/proc/self/ns/net", netns).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return id
}

// plantCgroup makes the cgroup of a pod that does not exist.
func plantCgroup(t *testing.T, rt *live.Instance, uid string) {
	t.Helper()
	for _, top := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"} {
		if _, err := os.Stat(filepath.Join(top, "cgroup.procs")); err != nil {
			continue
		}
		if err := os.MkdirAll(filepath.Join(top, rt.CgroupRoot(), "pod"+uid), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(filepath.Join(top, rt.CgroupRoot())) })
	}
}

// What a runtime forgot is found and removed, with what is planted by hand; the pods of it that
// run, and those of another runtime on the host, are left alone.
func TestLeaksAreFoundAndRemoved(t *testing.T) {
	for _, kind := range live.Kinds() {
		t.Run(kind, func(t *testing.T) { testLeaks(t, live.Runtime(t, kind, live.Private())) })
	}
}

func testLeaks(t *testing.T, rt *live.Instance) {
	other := live.Runtime(t, live.Containerd, live.Private())
	p := makePlace(t, rt)
	l, neighbour := p.planter(), makePlace(t, other).planter()
	neighbour.plant("neighbour")
	lost := l.plant("lost")
	forget(t, rt)
	l = p.planter()
	if got := l.pods(); got != "" {
		t.Fatalf("the runtime has not forgotten %s", got)
	}
	l.plant("stays")
	planted, uid := plantNetwork(t, rt), "0b6d5a5e-0000-4000-8000-000000000001"
	plantCgroup(t, rt, uid)

	f := leakFinder(t, rt)
	first, found := find(t, f)
	if p := found["lost"]; len(p.Of(leak.Process)) < 1 || len(p.Of(leak.Shim)) < 1 || len(p.Of(leak.Mount)) < 1 || p.Of(leak.Process)[0].ID != lost.ContainerID && p.Of(leak.Process)[0].ID != lost.SandboxID {
		t.Errorf("lost: %s (%s)", kinds(p), p.Evidence)
	}
	if p := found["planted"]; kinds(p) != "1 network namespace, 1 address" || p.ID != planted {
		t.Errorf("planted: %s %s (%s)", p.ID, kinds(p), p.Evidence)
	}
	if p := found[uid]; kinds(p) != "1 cgroup" {
		t.Errorf("cgroup: %s (%s)", kinds(p), p.Evidence)
	}
	if found["stays"].ID+found["neighbour"].ID != "" {
		t.Errorf("accused: %+v", first.Leaks)
	}
	if others, _ := find(t, leakFinder(t, other)); len(others.Leaks) > 0 {
		t.Errorf("on the other runtime: %+v", others.Leaks)
	}
	if young := p.does("orphans", "-o", "json"); strings.Contains(young, `"leaked"`) {
		t.Errorf("although it is younger than a sandbox takes to be created: %s", young)
	}

	var steps []string
	r := leak.Remover{Host: f.Host, Step: func(call string, _ error) { steps = append(steps, call) }}
	again, _ := find(t, f)
	for _, now := range again.Leaks {
		i := slices.IndexFunc(first.Leaks, func(l leak.Leak) bool { return l.ID == now.ID })
		if i < 0 {
			t.Errorf("only the second look has found %+v", now)
			continue
		}
		if err := r.Remove(context.Background(), first.Leaks[i], now); err != nil {
			t.Errorf("%v\n%s", err, strings.Join(steps, "\n"))
		}
	}
	if left, _ := find(t, f); len(left.Leaks) > 0 {
		t.Errorf("left: %+v", left.Leaks)
	}
	if got := l.pods() + " " + neighbour.pods(); got != "stays neighbour" {
		t.Errorf("pods: %s", got)
	}
	for _, pid := range rt.Shims() {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("shim %d of the pod that stays: %v", pid, err)
		}
	}
	t.Logf("%d steps:\n%s", len(steps), strings.Join(steps, "\n"))
}

// No sandbox that is being created or removed is ever taken for a leak.
func TestNothingHasLeakedWhilePodsStartAndEnd(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		var pods []string
		for i := range 20 {
			pods = append(pods, pod(fmt.Sprintf("p%d", i), "sleep 2", never))
		}
		run := p.start(strings.Join(pods, "\n---\n"), "-")
		done := make(chan struct{})
		go func() { run.wait(); close(done) }()
		looks := 0
		for running := true; running; looks++ {
			select {
			case <-done:
				running = false
			default:
			}
			if out := p.does("orphans", "-o", "json"); strings.Contains(out, `"leaked"`) {
				t.Errorf("accused: %s", out)
			}
		}
		t.Logf("%d looks", looks)
	})
}
