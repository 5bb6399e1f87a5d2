package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

// stuckPod is one item of podctl terminating -o json.
type stuckPod struct {
	Metadata struct{ Name string }
	Owner    string
	Layer    string
	Why      string
	// Confidence is observed, likely or unknown.
	Confidence string
	Next       []string
	Running    []struct {
		PID   int
		State string
	}
}

// terminating runs podctl terminating and returns the pods by name.
func (p *place) terminating(run func(args ...string) (string, string, int)) map[string]stuckPod {
	p.t.Helper()
	out, errw, code := run("terminating", "-o", "json")
	if code != 0 {
		p.t.Fatalf("terminating: exit code %d\n%s", code, errw)
	}
	var list []stuckPod
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	pods := map[string]stuckPod{}
	for _, s := range list {
		pods[s.Metadata.Name] = s
	}
	return pods
}

// firstProcess returns the first process of a container.
func (k *kubeletPlace) firstProcess(name string) proc.Process {
	k.t.Helper()
	client, err := cri.Connect(k.t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: k.endpoint}})
	if err != nil {
		k.t.Fatal(err)
	}
	defer client.Close()
	c, err := client.ContainerProcess(k.t.Context(), k.container(name))
	if err != nil {
		k.t.Fatal(err)
	}
	p, err := proc.Default.Read(c.PID)
	if err != nil {
		k.t.Fatal(err)
	}
	return p
}

// usesVolume starts a process on the host whose directory is in a volume of the
// pod, so that the volume cannot be unmounted. It returns the pod's UID, too.
func (k *kubeletPlace) usesVolume(name string) (user *exec.Cmd, uid string) {
	k.t.Helper()
	var dir string
	for _, p := range k.kubelet.Pods(k.t) {
		if p.Name == name+k.node {
			uid = string(p.UID)
			dir = filepath.Join(k.kubelet.Root, "pods", string(p.UID), "volumes/kubernetes.io~empty-dir/cache")
		}
	}
	cmd := exec.Command("sleep", "600")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, uid
}

// Pods that a kubelet terminates are listed with the layer for which they wait,
// and each hint works: podctl removes no pod of a kubelet.
//
// As in TestBesideAKubelet, no other test runs beside it.
func TestTerminatingNamesLayerOfKubeletPods(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	k := startKubelet(t, strings.ToLower(host))
	const grace = "terminationGracePeriodSeconds: 300"
	const deaf = `trap "" TERM; ` + forever
	hooked := strings.Replace(pod("hooked", server, grace), "    command:", "    lifecycle: {preStop: {exec: {command: [sleep, \"290\"]}}}\n    command:", 1)
	stuck := map[string]string{"deaf": pod("deaf", deaf, grace), "hooked": hooked, "orphaned": pod("orphaned", server, grace), "frozen": pod("frozen", server, grace)}
	stuck["busy"] = strings.Replace(pod("busy", server, brief, "volumes: [{name: cache, emptyDir: {medium: Memory}}]"), "    command:", "    volumeMounts: [{name: cache, mountPath: /cache}]\n    command:", 1)
	for name, manifest := range stuck {
		k.kubelet.WriteStatic(t, name+".yaml", requesting("10m", manifest))
	}
	k.kubelet.Runs(t, "web", "cache", "log", "busy", "deaf", "hooked", "orphaned", "frozen")
	user, busy := k.usesVolume("busy")
	shim := k.firstProcess("orphaned").Parent
	if err := syscall.Kill(shim, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(shim, syscall.SIGCONT) })
	file, thawed := live.Freeze(t, k.firstProcess("frozen").PID)
	deafPID := k.firstProcess("deaf").PID

	eventually(t, "nothing but a pod with a stopped shim terminates", func() bool {
		found := k.terminating(k.podctl)
		return len(found) == 1 && found["orphaned"+k.node].Layer == "shim"
	}, func() string { return k.does("terminating") })
	for name := range stuck {
		k.kubelet.RemoveStatic(t, name+".yaml")
	}
	want := map[string]struct{ layer, hint string }{
		"deaf" + k.node:     {"process", fmt.Sprintf("kill -KILL %d", deafPID)},
		"hooked" + k.node:   {"hook", "kill -KILL "},
		"orphaned" + k.node: {"shim", fmt.Sprintf("kill -CONT %d", shim)},
		busy:                {"volume", "fuser -vm " + k.kubelet.Root}, // the runtime lists nothing of it any more
		"frozen" + k.node:   {"cgroup", fmt.Sprintf("echo %s > %s", thawed, file)},
	}
	eventually(t, "terminating names the layer of each pod", func() bool {
		found := k.terminating(k.podctl)
		for name, w := range want {
			p := found[name]
			if p.Layer != w.layer || !slices.ContainsFunc(p.Next, func(n string) bool { return strings.HasPrefix(n, w.hint) }) {
				return false
			}
		}
		return len(found) == len(want)
	}, func() string { return k.does("terminating") })
	t.Logf("\n%s", k.does("terminating"))
	for name, p := range k.terminating(k.podctl) {
		if strings.Contains(strings.Join(p.Next, " "), "podctl rm") || p.Owner != "kubelet" {
			t.Errorf("%s, owned by %s, has the hints %q", name, p.Owner, p.Next)
		}
	}

	if got := classes(k.orphans()); got != "" {
		t.Errorf("orphans: %s", got)
	}

	// In another PID namespace the processes cannot be seen: they are not gone.
	pidNamespace := []string{"unshare", "--pid", "--fork", "--mount-proc"}
	for name, p := range k.terminating(func(args ...string) (string, string, int) { return k.within(pidNamespace, args...) }) {
		for _, c := range p.Running {
			if c.State != "hidden" {
				t.Errorf("in another PID namespace %s has a process in state %q", name, c.State)
			}
		}
		if p.Layer == "shim" {
			t.Errorf("in another PID namespace %s waits for its shim: %s", name, p.Why)
		}
	}

	// The hints work.
	if err := user.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = user.Wait()
	if err := os.WriteFile(file, []byte(thawed), 0); err != nil {
		t.Fatal(err)
	}
	for pid, signal := range map[int]syscall.Signal{shim: syscall.SIGCONT, deafPID: syscall.SIGKILL, k.firstProcess("hooked").PID: syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Error(err)
		}
	}
	// The kubelet's pauses between two attempts to unmount grow up to two minutes.
	testutil.Eventually(t, timeout, "no pod terminates any more", func() bool { return len(k.terminating(k.podctl)) == 0 }, func() string { return k.does("terminating") })
	k.kubelet.Runs(t, "web", "cache", "log")
}

// While a pod waits for a lock of podctl's, terminating names the lock and the
// process that holds it.
func TestTerminatingNamesLockHolder(t *testing.T) {
	t.Parallel()
	a := withAgent(t, live.Runtime(t, live.Containerd))
	a.put("web.yaml", a.marking("web", ""))
	agent := a.agent("--drain")
	a.wrote("web", "up")
	run := a.path("run")
	holder := exec.Command("flock", "--no-fork", run, "sleep", "600")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	release := func() { _ = holder.Process.Kill(); _ = holder.Wait() }
	t.Cleanup(release)
	eventually(t, "the lock is held", func() bool { return proc.Default.LockHolder(run) == holder.Process.Pid }, func() string { return run })
	a.remove("web.yaml")
	eventually(t, "terminating names the lock", func() bool {
		p := a.terminating(a.podctl)["web"]
		return p.Layer == "lock" && strings.Contains(p.Why, "the lock on "+run+" for ") && strings.Contains(p.Why, fmt.Sprintf("sleep (pid %d) holds", holder.Process.Pid))
	}, func() string { return a.does("terminating") })
	t.Logf("\n%s", a.does("terminating"))
	release()
	a.holds()
	agent.ends(syscall.SIGTERM, 0)
}

// A runtime that a signal has stopped is hung, not something else; what podctl
// processes report is listed all the same.
func TestStoppedRuntimeIsReportedAsHung(t *testing.T) {
	t.Parallel()
	rt := live.Runtime(t, live.Containerd, live.Private())
	p := makePlace(t, rt)
	run := p.start(pod("web", server, brief), "-")
	run.prints("runs until Ctrl-C")
	server := cri.ServerOf(cri.Endpoint{Runtime: p.endpoint})
	if server.PID == 0 {
		t.Fatal("the process of the runtime is not known")
	}
	if err := syscall.Kill(server.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resumed := false
	resume := func() {
		if !resumed {
			resumed = true
			_ = syscall.Kill(server.PID, syscall.SIGCONT)
		}
	}
	t.Cleanup(resume)
	hint := fmt.Sprintf("hint: the server, %s (pid %d), is stopped by a signal: kill -CONT %d", server.Comm, server.PID, server.PID)
	for _, c := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"pods"}, 3, "default/web"},
		{[]string{"terminating"}, 3, ""},
		{[]string{"--timeout", "2s", "pleg", "check"}, 1, "unhealthy: connect to "},
		{[]string{"--timeout", "2s", "orphans"}, 3, ""},
	} {
		out, errw, code := p.podctl(c.args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(out+errw, hint) || strings.Contains(out+errw, "not a CRI") {
			t.Errorf("podctl %q: exit code %d\n%s%s", c.args, code, out, errw)
		}
	}
	resume()
	run.signal(syscall.SIGINT)
	run.wait()
}
