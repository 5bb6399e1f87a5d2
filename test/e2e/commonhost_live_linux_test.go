package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/test/live"
)

// procsWithoutOthers is /proc without the processes of other private runtimes: those with a path
// of such a runtime among their arguments.
func procsWithoutOthers(t *testing.T, rt *live.Instance) proc.FS {
	t.Helper()
	dir := t.TempDir()
	pids, err := proc.Default.PIDs()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"stat"}
	for _, pid := range pids {
		args, _ := proc.Default.Command(pid)
		all := strings.Join(args, " ")
		if !strings.Contains(all, "/podctl-dev/") || strings.Contains(all, "/podctl-dev/"+rt.Name+"/") {
			names = append(names, strconv.Itoa(pid))
		}
	}
	for _, name := range names {
		if err := os.Symlink(filepath.Join("/proc", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return proc.FS(dir)
}

// attachmentOf returns the network namespace of a sandbox, by the CNI cache.
func attachmentOf(t *testing.T, rt *live.Instance, sandbox string) (netns string) {
	t.Helper()
	attached, err := os.ReadFile(filepath.Join("/var/lib/cni/results", "podctl-"+rt.Name+"-"+sandbox+"-eth0"))
	var attachment struct{ NetNS string }
	if err := errors.Join(err, json.Unmarshal(attached, &attachment)); err != nil {
		t.Fatal(err)
	}
	return attachment.NetNS
}

// leakOf returns the leak of a sandbox, the zero Leak if there is none: an earlier test that was
// killed may have left more.
func leakOf(found leak.Findings, sandbox string) leak.Leak {
	for _, l := range found.Leaks {
		if l.ID == sandbox {
			return l
		}
	}
	return leak.Leak{}
}

// On a host with one containerd, as it is configured by default, a network namespace and an address
// without a process, shim or record are found and removed; beside another runtime they are not.
func TestLeaksOfCrashedRuntimeOnCommonHost(t *testing.T) {
	t.Setenv("PODCTL_DEV_HOST_NETNS", "1")
	rt := live.Runtime(t, live.Containerd, live.Private())
	p := makePlace(t, rt)
	l := p.planter()
	lost := l.plant("lost")
	netns := attachmentOf(t, rt, lost.SandboxID)
	t.Cleanup(func() {
		_ = syscall.Unmount(netns, syscall.MNT_DETACH) // it is gone, unless the test fails
		_ = os.Remove(netns)
		for _, file := range []string{"podctl-" + rt.Name + "-" + lost.SandboxID + "-eth0", "cni-loopback-" + lost.SandboxID + "-lo"} {
			_ = os.Remove(filepath.Join("/var/lib/cni/results", file))
		}
		_ = os.Remove("/run/netns") // unless another has something in it
	})
	before := leakFinder(t, rt)
	before.Host.Procs = procsWithoutOthers(t, rt)
	if found, _ := find(t, before); leakOf(found, lost.SandboxID).ID != "" {
		t.Errorf("before the crash: %+v", found.Leaks)
	}
	shims := rt.Shims()
	for _, pid := range shims {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // it must not tell the runtime
			t.Fatal(err)
		}
	}
	rt.Kill(t)
	pids, _ := proc.Default.PIDs()
	for _, pid := range pids {
		if q, err := proc.Default.Read(pid); err == nil {
			for _, shim := range shims {
				if q.Parent == shim || pid == shim {
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if err := os.Remove(filepath.Join("/var/lib/podctl-dev", rt.Name, "root/io.containerd.metadata.v1.bolt/meta.db")); err != nil {
		t.Fatal(err)
	}
	rt.Start(t)
	l = p.planter()
	stays := l.plant("stays")
	t.Cleanup(func() {
		if _, err := l.c.Runtime.StopPodSandbox(context.Background(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: stays.SandboxID}); err != nil {
			t.Error(err)
		}
	})

	f := leakFinder(t, rt)
	f.Host.Procs = procsWithoutOthers(t, rt)
	first, _ := find(t, f)
	if first.Other != "" {
		t.Skipf("live test: another runtime is on this host: %s", first.Other)
	}
	leaked := leakOf(first, lost.SandboxID)
	if len(leaked.Of(leak.NetworkNamespace)) != 1 || len(leaked.Of(leak.Lease)) != 1 || len(leaked.Of(leak.Shim))+len(leaked.Of(leak.Process)) > 0 || leakOf(first, stays.SandboxID).ID != "" {
		t.Fatalf("lost: %s (%s); all: %+v", kinds(leaked), leaked.Evidence, first)
	}
	other := live.Runtime(t, live.Containerd, live.Private())
	if beside, _ := find(t, leakFinder(t, rt)); beside.Other == "" || len(beside.Leaks) > 0 {
		t.Errorf("beside %s: %+v", other.Name, beside)
	}
	r := leak.Remover{Host: f.Host, Step: func(call string, err error) { t.Log(call, err) }}
	again, _ := find(t, f)
	if err := r.Remove(t.Context(), leaked, leakOf(again, lost.SandboxID)); err != nil {
		t.Errorf("%v; %+v", err, again)
	}
	if left, _ := find(t, f); leakOf(left, lost.SandboxID).ID != "" {
		t.Errorf("left: %+v", left.Leaks)
	}
	if got := l.pods(); got != "stays" {
		t.Errorf("pods: %s", got)
	}
	t.Logf("%s: %s", kinds(leaked), leaked.Evidence)
}
