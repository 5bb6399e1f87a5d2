package live

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
	"github.com/podctl/podctl/testkit/testutil"
)

func TestMain(m *testing.M) { Main(m) }

func dial(t *testing.T, in *Instance) *bare.Client {
	t.Helper()
	c, err := bare.Dial(in.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func start(t *testing.T, c *bare.Client, command ...string) *bare.Pod {
	t.Helper()
	return startSpec(t, c, bare.Spec{Command: command})
}

func startSpec(t *testing.T, c *bare.Client, spec bare.Spec) *bare.Pod {
	t.Helper()
	spec.Name = strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	spec.Image, spec.LogDir = image.BusyboxName, t.TempDir()
	p, err := c.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func stopAndRemove(t *testing.T, c *bare.Client, p *bare.Pod) {
	t.Helper()
	if err := c.Stop(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func TestPodRunsAndLeavesNothing(t *testing.T) {
	Each(t, func(t *testing.T, rt *Instance) {
		rt.Leftovers(t)
		c := dial(t, rt)
		p := start(t, c, "sh", "-c", "echo hello; exit 3")
		if err := c.WaitExited(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		status, err := c.Status(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if status.ExitCode != 3 {
			t.Errorf("exit code %d, want 3: %s", status.ExitCode, status.Message)
		}
		written, err := os.ReadFile(p.LogPath())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(written, []byte(" stdout F hello\n")) {
			t.Errorf("log %q", written)
		}
		stopAndRemove(t, c, p)
	})
}

func TestTracesSeeARunningPod(t *testing.T) {
	Each(t, func(t *testing.T, rt *Instance) {
		c := dial(t, rt)
		before := rt.Traces()
		p := start(t, c, "sleep", "3600")
		text := strings.Join(rt.Traces(), "\n")
		stopAndRemove(t, c, p)
		for _, kind := range []string{"mount", "shim", "link", "lease", "attachment", "state", "cgroup", "listed"} {
			if !strings.Contains("\n"+text, "\n"+kind+" ") {
				t.Errorf("a running pod has no %s among its traces:\n%s", kind, text)
			}
		}
		if left := rt.NewSince(t, before); left != nil {
			t.Errorf("left over: %q", left)
		}
	})
}

func TestRestartedRuntimeStillHasItsPods(t *testing.T) {
	Each(t, func(t *testing.T, rt *Instance) {
		rt.Leftovers(t)
		c := dial(t, rt)
		p := start(t, c, "sleep", "3600")
		rt.Restart(t)
		status, err := dial(t, rt).Status(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if status.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("state %s, want running", status.State)
		}
		stopAndRemove(t, dial(t, rt), p)
	})
}

func TestDownAfterKillWithPodsLeavesNothing(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			rt := Runtime(t, kind, Private())
			before := rt.Traces()
			p := startSpec(t, dial(t, rt), bare.Spec{Command: []string{"sleep", "3600"}, HostPort: freePort(t)})
			bridge, subnet := rt.bridge(), rt.subnet()
			rt.Kill(t)
			rt.Down(t)
			for _, left := range rt.NewSince(t, before) {
				t.Errorf("left over: %s", left)
			}
			for _, dir := range []string{rt.run, rt.lib, "/sys/class/net/" + bridge} {
				if _, err := os.Stat(dir); err == nil {
					t.Errorf("left over: %s", dir)
				}
			}
			for _, id := range []string{p.SandboxID, p.ContainerID} {
				if found := processesNaming(id); len(found) > 0 {
					t.Errorf("left over: processes %v", found)
				}
			}
			rules, _ := exec.Command("iptables-save").Output()                                // none where there is no iptables
			table, _ := exec.Command("nft", "list", "table", "ip", "crio-hostports").Output() // CRI-O's
			rules = append(rules, table...)
			for _, mark := range []string{"podctl-" + rt.Name, subnet + "."} {
				if bytes.Contains(rules, []byte(mark)) {
					t.Errorf("left over: firewall rules with %s\n%s", mark, rules)
				}
			}
		})
	}
}

func TestSleepingContainerDiesWithItsRuntime(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			rt := Runtime(t, kind, Private())
			start(t, dial(t, rt), "sleep", "987654")
			rt.Down(t)
			if found := processesNaming("987654"); len(found) > 0 {
				t.Errorf("left over: processes %v", found)
			}
		})
	}
}

func TestFrozenContainerDiesWithItsRuntime(t *testing.T) {
	rt := Runtime(t, Containerd, Private())
	start(t, dial(t, rt), "sleep", "876543")
	var found []string
	// It has started before it executes its program.
	if !testutil.Poll(time.Minute, func() bool { found = processesNaming("876543"); return len(found) == 1 }) {
		t.Fatalf("%d processes, want the container's: %v", len(found), found)
	}
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(found[0])))
	if err != nil {
		t.Fatal(err)
	}
	Freeze(t, pid)
	rt.Down(t)
	if found := processesNaming("876543"); len(found) > 0 {
		t.Errorf("left over: processes %v", found)
	}
}

func freePort(t *testing.T) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return int32(l.Addr().(*net.TCPAddr).Port)
}

// processesNaming returns the command lines that hold the word.
func processesNaming(word string) []string {
	var found []string
	for _, file := range glob("/proc/[0-9]*/cmdline") {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte(word)) {
			found = append(found, file)
		}
	}
	return found
}
