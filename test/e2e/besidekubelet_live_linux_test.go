package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Beside a kubelet podctl harms none of its pods, and says of them what the
// runtime and the kubelet say: with the read-only port of the kubelet, and with
// its authenticated port alone and a node name of its own. Subtests share the
// kubelet, and each leaves it as it was.
//
// No other test runs beside this one: the test process is a client of the
// kubelet's runtime and the recording proxy of other tests, so that podctl takes
// it for a proxy between them, and refuses to start there.
func TestBesideAKubelet(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range []struct {
		name, node string
		flags      []string
	}{
		{"read-only-port", strings.ToLower(host), nil},
		{"authenticated-port", "node-1", []string{"--read-only-port=0", "--hostname-override=node-1"}},
	} {
		t.Run(port.name, func(t *testing.T) {
			t.Parallel()
			k := startKubelet(t, port.node, port.flags...)
			k.adds("p4", "p5", "p6", "p7", "p8", "p9", "p10")
			k.settles()
			for _, test := range []struct {
				name string
				do   func(*kubeletPlace)
			}{
				{"a healthy node", (*kubeletPlace).healthy},
				{"the commands that look inside", (*kubeletPlace).looksInside},
				{"podctl in a container", (*kubeletPlace).contained},
				{"a manifest removed during a long grace period", (*kubeletPlace).removed},
				{"a changed manifest", (*kubeletPlace).changed},
				{"a kubelet that is killed during a grace period", (*kubeletPlace).killedDuringGrace},
				{"a kubelet that does not answer", (*kubeletPlace).unanswered},
			} {
				if !t.Run(test.name, func(t *testing.T) { test.do(k.in(t)) }) {
					t.FailNow()
				}
			}
		})
	}
}

// settles waits until podctl believes the kubelet's answer to be complete.
func (k *kubeletPlace) settles() {
	k.t.Helper()
	eventually(k.t, "podctl takes the kubelet's answer for complete", func() bool {
		_, errw, _ := k.podctl("terminating", "-o", "name")
		return errw == ""
	}, func() string { _, errw, _ := k.podctl("terminating", "-o", "name"); return errw })
}

// healthy: its pods are its own in every command.
func (k *kubeletPlace) healthy() {
	k.sparesEverything(k.podctl)
	k.agrees()
	k.agreesOnOwnership()
	k.agreesOnRequests()
	k.hasNoOrphans()
	if found := k.terminating(k.podctl); len(found) > 0 {
		k.t.Errorf("terminating on a healthy node: %v", found)
	}
	k.preempts()
}

// contained: podctl in a container sees less; what it cannot see it does not
// touch, and does not name an orphan.
func (k *kubeletPlace) contained() {
	for _, l := range k.layouts() {
		k.t.Run(l.name, func(t *testing.T) {
			in := k.in(t)
			if l.socket != "" {
				in.endpoint = "unix://" + l.socket
			}
			run := func(args ...string) (string, string, int) { return in.within(l.argv, args...) }
			in.sparesEverything(run)
			out, errw, code := run("pods", "-o", "json")
			if listed := decodePods(t, out); code != 0 || len(listed) != len(k.names) {
				t.Errorf("pods: exit code %d, %d pods\n%s", code, len(listed), errw)
			} else {
				for _, p := range listed {
					if p.Kind != "kubelet" || p.Status != "Running" {
						t.Errorf("%s of %s is %s", p.Metadata.Name, p.Kind, p.Status)
					}
				}
			}
			if out, errw, code := run("orphans", "-o", "name"); strings.TrimSpace(out) != "" || code != 0 {
				t.Errorf("orphans: exit code %d\n%s%s", code, out, errw)
			}
			if out, errw, code := run("terminating", "-o", "name"); strings.TrimSpace(out) != "" || code != 0 {
				t.Errorf("terminating: exit code %d\n%s%s", code, out, errw)
			}
			in.preemptsWith(run)
		})
	}
}

// flushes is a program that takes some time to end, and says so.
func flushes(name string, seconds int) string {
	return fmt.Sprintf(`trap "echo flushing >> /mark/%s; sleep %d; echo flushed >> /mark/%[1]s; exit 0" TERM; `+
		`echo up >> /mark/%[1]s; while true; do sleep 0.1; done`, name, seconds)
}

// removed: nothing shortens the grace period of a pod that the kubelet
// terminates, and every command says that it is terminating, and by what.
func (k *kubeletPlace) removed() {
	const grace = "terminationGracePeriodSeconds: 60"
	ended := k.terminatesFlushing(20, grace, func() { k.kubelet.RemoveStatic(k.t, "flush.yaml") })
	k.kubelet.Runs(k.t, k.names...)
	k.says("flush", "its grace period is 1m0s")
	k.confirms("flush")
	k.sparesEverything(k.podctl)
	k.preempts()
	k.agrees()
	k.agreesOnOwnership()
	k.agreesOnRequests()
	ended("flushing", "flushed")
	k.agreesOnOwnership()
}

// confirms waits until the kubelet counts the pod among those that it terminates, which
// it does at its next housekeeping.
func (k *kubeletPlace) confirms(name string) {
	k.t.Helper()
	metrics := k.kubelet.Get(k.t, "/metrics")
	k.t.Logf("the kubelet's /metrics has %d KiB", len(metrics)>>10)
	eventually(k.t, "the kubelet confirms that it terminates "+name, func() bool {
		return k.terminating(k.podctl)[name+k.node].Confidence == "observed"
	}, func() string { return k.does("terminating") })
}

// killedDuringGrace: with the kubelet gone nothing shows that it was terminating a
// pod, and podctl says that; the pod has its time. The next kubelet terminates what
// it does not desire, with a grace period of its own, and podctl leaves it to that.
func (k *kubeletPlace) killedDuringGrace() {
	const grace = "terminationGracePeriodSeconds: 60"
	ended := k.terminatesFlushing(15, grace, func() { k.kubelet.RemoveStatic(k.t, "flush.yaml") })
	k.kubelet.Kill(k.t)
	k.saysUnknown("flush")
	k.sparesEverything(k.podctl)
	ended("flushing", "flushed")
	k.leaving = "flush" // its sandbox is the next kubelet's to stop
	k.kubelet.Start(k.t)
	k.kubelet.Runs(k.t, k.names...)
	k.sparesEverything(k.podctl)
	k.agreesOnOwnership()

	k.leaving = ""
	k.terminatesFlushing(30, grace, func() { k.kubelet.RemoveStatic(k.t, "flush.yaml") })
	k.kubelet.Kill(k.t)
	k.saysUnknown("flush")
	k.kubelet.Launch(k.t)
	k.sparesEverything(k.podctl)
	k.kubelet.Start(k.t)
	k.kubelet.Runs(k.t, k.names...)
	k.sparesEverything(k.podctl)
	k.agreesOnOwnership()
	eventually(k.t, "the kubelet terminates what an earlier one began to terminate", func() bool {
		for _, p := range rawPods(k.t, k.client) {
			if p.name == "flush"+k.node && p.alive() {
				return false
			}
		}
		return true
	}, func() string { return k.does("pods") })
	k.agreesOnOwnership()
	k.leaving = ""
}

// saysUnknown asserts what each command says of a pod of a kubelet that is gone.
func (k *kubeletPlace) saysUnknown(name string) {
	k.t.Helper()
	full := "default/" + name + k.node
	out, errw, code := k.podctl("terminating", "-o", "name")
	if strings.TrimSpace(out) != "" || code != 0 || !strings.Contains(errw, "warning: pods of a kubelet are listed on evidence of their processes only: ") {
		k.t.Errorf("terminating: exit code %d\n%s%s", code, out, errw)
	}
	k.hasNoOrphans()
	if out := k.does("orphans"); !strings.Contains(out, "not judged: ") || !strings.Contains(out, full) || !strings.Contains(out, "none uses this runtime now") {
		k.t.Errorf("orphans does not say that %s is not judged:\n%s", full, out)
	}
	for _, args := range [][]string{{"orphans", "--kill", full}, {"rm", "--force", full}, {"stop", full}} {
		if out, errw, code := k.podctl(args...); code != 1 || !strings.Contains(errw, "none uses this runtime now") {
			k.t.Errorf("podctl %q: exit code %d\n%s%s", args, code, out, errw)
		}
	}
	file := k.path("critical.yaml")
	if err := os.WriteFile(file, []byte(requesting("100m", pod("critical", server, criticalClass))), 0o600); err != nil {
		k.t.Fatal(err)
	}
	if out, errw, code := k.podctl("preempt", "--dry-run", "-f", file); code != 1 || !strings.Contains(errw, "none uses this runtime now") {
		k.t.Errorf("preempt: exit code %d\n%s%s", code, out, errw)
	}
	if raw := rawPods(k.t, k.client); !slices.ContainsFunc(slices.Collect(maps.Values(raw)), func(p *rawPod) bool { return p.name == name+k.node && len(p.running) == 1 }) {
		k.t.Errorf("%s does not run any more", full)
	}
}

// changed: the pod of the earlier manifest has the name of the later one.
func (k *kubeletPlace) changed() {
	const grace = "terminationGracePeriodSeconds: 40"
	ended := k.terminatesFlushing(8, grace, func() {
		k.kubelet.WriteStatic(k.t, "flush.yaml", k.marked("flush", flushes("flush", 0), brief))
	})
	k.says("flush", "its grace period is 40s")
	k.sparesEverything(k.podctl)
	ended("flushing", "flushed", "up")
	k.kubelet.Runs(k.t, append(slices.Clone(k.names), "flush")...)
	k.kubelet.RemoveStatic(k.t, "flush.yaml")
	k.kubelet.Runs(k.t, k.names...)
	k.leavesNothing("flush")
}

// terminatesFlushing adds a static pod, flush, that takes some time to end, and has the
// kubelet terminate it. The function that it returns waits for the lines that it
// still writes, and asserts that it was not killed.
func (k *kubeletPlace) terminatesFlushing(seconds int, grace string, terminate func()) func(lines ...string) {
	k.t.Helper()
	const name = "flush"
	_ = os.Remove(filepath.Join(k.path("mark"), name))
	k.kubelet.WriteStatic(k.t, name+".yaml", k.marked(name, flushes(name, seconds), grace))
	k.getsLines(name, "up")
	k.kubelet.Runs(k.t, append(slices.Clone(k.names), name)...)
	id := k.containers()[name+k.node]
	exited := k.exitOf(id)
	k.leaving = name
	terminate()
	k.getsLines(name, "up", "flushing")
	return func(lines ...string) {
		k.t.Helper()
		k.getsLines(name, append([]string{"up"}, lines...)...)
		select {
		case st := <-exited:
			if st == nil {
				k.t.Logf("the kubelet removed the container of %s before its status was read", name)
			} else if ran := time.Duration(st.FinishedAt - st.StartedAt); st.ExitCode != 0 || ran < time.Duration(seconds)*time.Second {
				k.t.Errorf("%s ran for %s and exited with %d, %s: it was not left to end", name, ran, st.ExitCode, st.Reason)
			}
		case <-time.After(timeout):
			k.t.Errorf("%s did not exit", name)
		}
		k.leavesNothing(name)
		k.leaving = ""
	}
}

// leavesNothing waits until the kubelet has terminated the earlier pods of the
// name.
func (k *kubeletPlace) leavesNothing(name string) {
	k.t.Helper()
	eventually(k.t, "the kubelet has terminated "+name, func() bool {
		return len(k.terminating(k.podctl)) == 0
	}, func() string { return k.does("terminating") })
}

// exitOf reads the status of a container again and again, and returns the first
// that says that it has exited, nil if the kubelet has removed it by then.
func (k *kubeletPlace) exitOf(id string) <-chan *runtimeapi.ContainerStatus {
	exited := make(chan *runtimeapi.ContainerStatus, 1)
	ctx := k.t.Context()
	go func() {
		for ctx.Err() == nil {
			r, err := k.client.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
			if err == nil && r.Status.State == runtimeapi.ContainerState_CONTAINER_EXITED {
				exited <- r.Status
				return
			}
			if status.Code(err) == codes.NotFound {
				exited <- nil
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return exited
}

// says asserts what each command says of the pod that the kubelet is terminating.
func (k *kubeletPlace) says(name, why string) {
	k.t.Helper()
	found := k.terminating(k.podctl)
	p := found[name+k.node]
	if len(found) != 1 || p.Owner != "kubelet" || p.Layer != "-" || !strings.Contains(p.Why, why) || len(p.Next) > 0 ||
		len(p.Running) != 1 || p.Running[0].PID != k.pidOf(name) {
		k.t.Errorf("terminating: %+v", found)
	}
	if got := k.does("terminating", "-o", "name"); strings.TrimSpace(got) != "default/"+name+k.node {
		k.t.Errorf("terminating -o name: %s", got)
	}
	k.hasNoOrphans()
	if out := k.does("orphans"); !strings.Contains(out, "terminated by the kubelet") || !strings.Contains(out, "default/"+name+k.node) {
		k.t.Errorf("orphans does not say that the kubelet terminates %s:\n%s", name, out)
	}
	shown := map[string]int{}
	for _, p := range decodePods(k.t, k.does("pods", "-o", "json", name+"*")) {
		shown[p.Status+" "+p.Kind]++
	}
	if shown["Terminating kubelet"] != 1 {
		k.t.Errorf("pods: %v", shown)
	}
	if got := decodePods(k.t, k.does("pods", "-o", "json", "--terminating")); len(got) != 1 {
		k.t.Errorf("pods --terminating: %+v", got)
	}
}

// pidOf is the first process of the container of the pod that the kubelet is
// terminating, by the runtime.
func (k *kubeletPlace) pidOf(name string) int {
	k.t.Helper()
	oldest, id := int64(0), ""
	list, err := k.client.Runtime.ListContainers(k.t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, c := range list.Containers {
		if c.Labels["io.kubernetes.pod.name"] == name+k.node && c.State == runtimeapi.ContainerState_CONTAINER_RUNNING && (id == "" || c.CreatedAt < oldest) {
			oldest, id = c.CreatedAt, c.Id
		}
	}
	r, err := k.client.Runtime.ContainerStatus(k.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		k.t.Fatal(err)
	}
	var info struct{ PID int }
	if err := json.Unmarshal([]byte(r.Info["info"]), &info); err != nil {
		k.t.Fatal(err)
	}
	return info.PID
}

func (k *kubeletPlace) hasNoOrphans() {
	k.t.Helper()
	if got := classes(k.orphans()); got != "" {
		k.t.Errorf("orphans: %s", got)
	}
}

// listedPod is an element of what `podctl pods -o json` prints.
type listedPod struct {
	Metadata                    struct{ Namespace, Name, UID string }
	Status, Phase, Kind         string
	Ready, Containers, Restarts int
	IPs                         []string
	Sandbox                     string
}

func decodePods(t *testing.T, out string) []listedPod {
	t.Helper()
	var list []listedPod
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return list
}

// agrees asserts that pods says what the runtime and the kubelet say.
func (k *kubeletPlace) agrees() {
	k.t.Helper()
	byRuntime, running := k.byRuntime()
	byKubelet := map[string]v1.Pod{}
	for _, p := range k.kubelet.Pods(k.t) {
		byKubelet[string(p.UID)] = p
	}
	seen := map[string]bool{}
	for _, p := range decodePods(k.t, k.does("pods", "-o", "json")) {
		uid := p.Metadata.UID
		seen[uid] = true
		if p.Kind != "kubelet" || p.Sandbox != byRuntime[uid] || p.Ready != running[uid] || p.Containers != 1 {
			k.t.Errorf("pods: %+v; the runtime: sandbox %s, %d running", p, byRuntime[uid], running[uid])
		}
		object, named := byKubelet[uid]
		switch {
		case !named && p.Status != "Terminating" && running[uid] > 0:
			k.t.Errorf("pods: %+v; the kubelet does not name it", p)
		case named && (p.Status != string(object.Status.Phase) || p.Metadata.Name != object.Name ||
			p.Restarts != int(object.Status.ContainerStatuses[0].RestartCount) || object.Status.PodIP != "" && !slices.Contains(p.IPs, object.Status.PodIP)):
			k.t.Errorf("pods: %+v; the kubelet: %s %s %s", p, object.Name, object.Status.Phase, object.Status.PodIP)
		}
	}
	for uid := range byRuntime {
		if !seen[uid] {
			k.t.Errorf("pods lacks %s, which the runtime lists", uid)
		}
	}
	for uid, p := range byKubelet {
		if !seen[uid] {
			k.t.Errorf("pods lacks %s, which the kubelet names", p.Name)
		}
	}
}

// byRuntime are, by UID, the newest sandboxes of the runtime and the number of
// containers that run.
func (k *kubeletPlace) byRuntime() (sandboxes map[string]string, running map[string]int) {
	k.t.Helper()
	list, err := k.client.Runtime.ListPodSandbox(k.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	sandboxes, running, created := map[string]string{}, map[string]int{}, map[string]int64{}
	for _, s := range list.Items {
		if uid := s.Metadata.Uid; s.CreatedAt > created[uid] {
			sandboxes[uid], created[uid] = s.Id, s.CreatedAt
		}
	}
	containers, err := k.client.Runtime.ListContainers(k.t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, c := range containers.Containers {
		if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			running[c.Labels["io.kubernetes.pod.uid"]]++
		}
	}
	return sandboxes, running
}

// unanswered: a kubelet that is gone, hangs or starts has not said that its pods
// are orphans, nor that it terminates them.
func (k *kubeletPlace) unanswered() {
	for _, state := range []struct {
		name        string
		enter, exit func()
	}{
		{"frozen", func() { k.kubelet.Signal(k.t, syscall.SIGSTOP) }, func() { k.kubelet.Signal(k.t, syscall.SIGCONT) }},
		{"killed", func() { k.kubelet.Kill(k.t) }, func() { k.kubelet.Start(k.t) }},
		{"starting", func() { k.kubelet.Kill(k.t); k.kubelet.Launch(k.t) }, func() { k.kubelet.Start(k.t) }},
		{"restarting", func() { k.kubelet.Kill(k.t); k.kubelet.Launch(k.t) }, func() { k.kubelet.Start(k.t) }},
	} {
		state.enter()
		k.sparesEverything(k.podctl)
		k.hasNoOrphans()
		byRuntime, running := k.byRuntime()
		listed := slices.DeleteFunc(decodePods(k.t, k.does("pods", "-o", "json")), func(p listedPod) bool { return p.Phase == "Exited" }) // of tests before
		for _, p := range listed {
			if uid := p.Metadata.UID; p.Kind != "kubelet" || p.Sandbox != byRuntime[uid] || p.Ready != running[uid] || p.Status != "Running" {
				k.t.Errorf("pods: %+v; the runtime: sandbox %s, %d running", p, byRuntime[uid], running[uid])
			}
		}
		if len(listed) != len(k.names) {
			k.t.Errorf("pods lists %d pods, want %d", len(listed), len(k.names))
		}
		if out, errw, code := k.podctl("terminating", "-o", "name"); strings.TrimSpace(out) != "" || code != 0 ||
			state.name == "frozen" && !strings.Contains(errw, "warning: pods of a kubelet are listed on evidence") {
			k.t.Errorf("terminating: exit code %d\n%s%s", code, out, errw)
		}
		state.exit()
		k.kubelet.Runs(k.t, k.names...)
		if k.t.Failed() {
			k.t.Fatalf("with the kubelet %s", state.name)
		}
	}
}
