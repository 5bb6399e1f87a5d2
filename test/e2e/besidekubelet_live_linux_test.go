package e2e

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Beside a kubelet podctl harms none of its pods, and says of them what the
// runtime and the kubelet say: with the kubelet's PodsAPI; with its read-only port, as
// before 1.37; and with its authenticated port alone and a node name of its own.
// Subtests share the kubelet, and each leaves it as it was.
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
		{"pods-api", strings.ToLower(host), nil},
		{"read-only-port", strings.ToLower(host), []string{"--feature-gates=PodsAPI=false"}},
		{"authenticated-port", "node-1", []string{"--feature-gates=PodsAPI=false", "--read-only-port=0", "--hostname-override=node-1"}},
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
	_, err := os.Stat(k.kubelet.Root + "/pods-api/pods-api.sock")
	if out := k.does("doctor"); strings.Contains(out, "asked at unix://"+k.kubelet.Root+"/pods-api/") != (err == nil) {
		k.t.Errorf("the kubelet's PodsAPI: %v\n%s", err, out)
	}
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

// unanswered: a kubelet that is gone, hangs or starts has not said that its pods
// are orphans, nor that it terminates them.
func (k *kubeletPlace) unanswered() {
	k.removes("flush") // else it is an orphan as soon as the next kubelet answers
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
