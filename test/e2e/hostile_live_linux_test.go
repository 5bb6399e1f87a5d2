package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

const (
	// agentAddresses is the address space of an agent among hostile pods, in
	// KiB: reading a bomb whole ends it.
	agentAddresses = 4 << 20
	// agentMemory is how much memory such an agent may have used at most, in
	// MiB.
	agentMemory = 256
	// hostileLevels is the depth of the trees that containers make.
	hostileLevels = 12_000
)

// limitedAgent starts an agent with bounded memory.
func (a *agentPlace) limitedAgent(args ...string) *process {
	a.t.Helper()
	limited := append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, agentAddresses), binary}, a.flags()...)
	return a.command("", exec.Command("sh", append(limited, append([]string{"agent", "--manifests", a.path("manifests")}, args...)...)...))
}

// memoryPeak is the most memory that a process has used, in MiB.
func memoryPeak(t *testing.T, p *process) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// waits is eventually, for hostile places.
func (a *agentPlace) waits(what string, agent *process, done func() bool) {
	a.t.Helper()
	start := time.Now()
	testutil.Eventually(a.t, live.Timeout, what, done, func() string { out, errw := agent.output(); return out + errw })
	a.t.Logf("%s: after %s", what, time.Since(start).Round(100*time.Millisecond))
}

// goesOn asserts that the healthy pod works and the agent lives.
func (a *agentPlace) goesOn(agent *process) {
	a.t.Helper()
	before := len(a.marks("healthy"))
	a.waits("the healthy pod goes on", agent, func() bool { return len(a.marks("healthy")) > before })
	select {
	case <-agent.done:
		out, errw := agent.output()
		a.t.Fatalf("the agent has ended: %s\n%s%s", agent.cmd.ProcessState, out, errw)
	default:
	}
}

// hostile starts an agent with a healthy pod, and judges both at the end.
func hostile(t *testing.T, test func(a *agentPlace, agent *process)) {
	live.One(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("healthy.yaml", a.marked("healthy", `while true; do echo x >> /mark/healthy; sleep 1; done`, "terminationGracePeriodSeconds: 1"))
		agent := a.limitedAgent("--drain")
		a.waits("the healthy pod runs", agent, func() bool { return len(a.marks("healthy")) > 0 })
		before, began := memoryPeak(t, agent), time.Now()
		test(a, agent)
		a.goesOn(agent)
		peak := memoryPeak(t, agent)
		t.Logf("the agent has used %d MiB at most, %d MiB before the hostile pod, which took %s; the limit is %d MiB", peak, before, time.Since(began).Round(100*time.Millisecond), agentMemory)
		if peak > agentMemory {
			t.Errorf("the agent has used %d MiB, more than %d", peak, agentMemory)
		}
		start := time.Now()
		agent.ends(syscall.SIGTERM, 0)
		t.Logf("drained after %s", time.Since(start).Round(100*time.Millisecond))
	})
}

// withVolume is a pod that has a volume v at /v.
func (a *agentPlace) withVolume(name, command, volume string, more ...string) string {
	text := a.marked(name, command, append(more, "terminationGracePeriodSeconds: 1")...)
	text = strings.Replace(text, "volumes: [", "volumes: [{name: v, "+volume+"}, ", 1)
	return strings.Replace(text, "volumeMounts: [", "volumeMounts: [{name: v, mountPath: /v}, ", 1)
}

// A container makes its /etc/hosts a terabyte and fails: it is started again,
// and nothing is read of that.
func TestHostileHostsFile(t *testing.T) {
	hostile(t, func(a *agentPlace, agent *process) {
		a.put("hosts.yaml", a.marked("hosts", `echo up >> /mark/hosts; truncate -s 1024G /etc/hosts; exit 1`))
		a.waits("the container is started three times", agent, func() bool { return len(a.marks("hosts")) >= 3 })
	})
}

// A container nests directories. Its own pod is measured, ends and goes; in the
// meantime another pod is evicted for its size, and the healthy one goes on.
func TestHostileDirectoryTree(t *testing.T) {
	hostile(t, func(a *agentPlace, agent *process) {
		// No path is longer than 4096 bytes, but a directory can be moved into another.
		nest := fmt.Sprintf(`cd /v; p=$(printf 'd/%%.0s' $(seq 1000)); n=0; while [ $n -lt %d ]; do mkdir -p next/$p && { [ ! -e tree ] || mv tree next/$p; } && mv next tree || exit 1; n=$((n+1000)); done; echo nested >> /mark/deep; sleep 3600`, hostileLevels)
		a.put("deep.yaml", a.withVolume("deep", nest, "emptyDir: {sizeLimit: 100Gi}"))
		a.waits("directories are nested", agent, func() bool { return len(a.marks("deep")) > 0 })
		a.put("full.yaml", a.withVolume("full", `dd if=/dev/zero of=/v/f bs=1M count=8; sleep 3600`, "emptyDir: {sizeLimit: 1Mi}"))
		a.waits("the full pod is evicted", agent, func() bool {
			out, _ := agent.output()
			return strings.Contains(out, `exceeds the limit "1Mi"`)
		})
		a.remove("deep.yaml")
		a.remove("full.yaml")
		a.waits("both pods and their directories are removed", agent, func() bool {
			return len(glob(a.t, a.path("root")+"/pods/*")) == 1
		})
	})
}

// A claim is nested deeply and given to a pod's fsGroup: a pod with another
// claim does not wait for that.
func TestHostileClaim(t *testing.T) {
	hostile(t, func(a *agentPlace, agent *process) {
		a.t.Cleanup(func() { // podctl never removes claims
			if out, err := exec.Command("rm", "-rf", a.path("root/claims")).CombinedOutput(); err != nil {
				a.t.Errorf("%v: %s", err, out)
			}
		})
		nestIn(a.t, a.path("root/claims/default/deep"), hostileLevels)
		pvc := func(name string) string {
			return "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + "}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
		}
		for _, name := range []string{"deep", "other"} {
			command := fmt.Sprintf("echo up >> /mark/%s; sleep 3600", name)
			a.put(name+".yaml", a.withVolume(name, command, "persistentVolumeClaim: {claimName: "+name+"}", "securityContext: {fsGroup: 5000}")+pvc(name))
		}
		a.waits("the pod with the other claim runs", agent, func() bool { return len(a.marks("other")) > 0 })
		a.waits("the pod with the deep claim runs", agent, func() bool { return len(a.marks("deep")) > 0 })
		info, err := os.Stat(a.path("root/claims/default/deep/d/d"))
		if err != nil || info.Sys().(*syscall.Stat_t).Gid != 5000 {
			a.t.Errorf("the claim was not given to the group: %v, %v", info, err)
		}
	})
}

// A manifest of a megabyte stands for gigabytes: it is refused with its line.
func TestHostileManifest(t *testing.T) {
	hostile(t, func(a *agentPlace, agent *process) {
		bomb := `a: &a "` + strings.Repeat("x", 900<<10) + "\"\nb: [" + strings.TrimSuffix(strings.Repeat("*a,", 20000), ",") + "]\n"
		a.put("bomb.yaml", bomb)
		a.waits("the manifest is refused", agent, func() bool {
			out, _ := agent.output()
			return strings.Contains(out, "bomb.yaml:2: the aliases of the document stand for more than 10 MiB")
		})
	})
}

// nestIn makes dir, and directories d/d/d/… in it.
func nestIn(t *testing.T, dir string, levels int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(dir, flags, 0)
	for n := 0; n < levels && err == nil; n++ {
		if err = unix.Mkdirat(fd, "d", 0o755); err != nil {
			break
		}
		var next int
		next, err = unix.Openat(fd, "d", flags, 0)
		_ = unix.Close(fd)
		fd = next
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
}
