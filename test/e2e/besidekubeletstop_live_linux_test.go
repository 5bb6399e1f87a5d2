package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// flushes is a program that, when it is told to end, says so and goes on until
// letsEnd.
func flushes(name string) string {
	return fmt.Sprintf(`trap "echo flushing >> /mark/%s; while [ ! -e /mark/%[1]s.end ]; do sleep 0.1; done; echo flushed >> /mark/%[1]s; exit 0" TERM; `+
		`echo up >> /mark/%[1]s; `+forever, name)
}

// letsEnd lets the programs that flush end.
func (p *place) letsEnd(name string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.path("mark"), name+".end"), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// removed: nothing shortens the grace period of a pod that the kubelet
// terminates, and every command says that it is terminating, and by what.
func (k *kubeletPlace) removed() {
	ended := k.terminatesFlushing(func() { k.kubelet.RemoveStatic(k.t, "flush.yaml") })
	k.kubelet.Runs(k.t, k.names...)
	k.says("flush", "its grace period is 10m0s")
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
	ended := k.terminatesFlushing(func() { k.kubelet.RemoveStatic(k.t, "flush.yaml") })
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
	k.terminatesFlushing(func() { k.kubelet.RemoveStatic(k.t, "flush.yaml") })
	k.kubelet.Kill(k.t)
	k.saysUnknown("flush")
	k.kubelet.Launch(k.t)
	k.sparesEverything(k.podctl)
	k.kubelet.Start(k.t)
	k.kubelet.Runs(k.t, k.names...)
	k.sparesEverything(k.podctl)
	k.agreesOnOwnership()
	k.letsEnd("flush")
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
	ended := k.terminatesFlushing(func() {
		k.kubelet.WriteStatic(k.t, "flush.yaml", k.marked("flush", flushes("flush"), brief))
	})
	k.says("flush", "its grace period is 10m0s")
	k.sparesEverything(k.podctl)
	ended("flushing", "flushed", "up")
	k.kubelet.Runs(k.t, append(slices.Clone(k.names), "flush")...)
	k.kubelet.RemoveStatic(k.t, "flush.yaml")
	k.kubelet.Runs(k.t, k.names...)
	k.leavesNothing("flush")
}

// terminatesFlushing adds a static pod, flush, that does not end before it may, and
// has the kubelet terminate it. The function that it returns lets it end, waits for
// the lines that it still writes, and asserts that it was not killed.
func (k *kubeletPlace) terminatesFlushing(terminate func()) func(lines ...string) {
	k.t.Helper()
	const name = "flush"
	for _, file := range []string{name, name + ".end"} {
		_ = os.Remove(filepath.Join(k.path("mark"), file))
	}
	k.kubelet.WriteStatic(k.t, name+".yaml", k.marked(name, flushes(name), "terminationGracePeriodSeconds: 600"))
	k.getsLines(name, "up")
	k.kubelet.Runs(k.t, append(slices.Clone(k.names), name)...)
	id := k.container(name)
	exited := k.exitOf(id)
	k.leaving = name
	terminate()
	k.getsLines(name, "up", "flushing")
	return func(lines ...string) {
		k.t.Helper()
		k.letsEnd(name)
		k.getsLines(name, append([]string{"up"}, lines...)...)
		select {
		case st := <-exited:
			if st == nil {
				k.t.Logf("the kubelet removed the container of %s before its status was read", name)
			} else if st.ExitCode != 0 {
				k.t.Errorf("%s exited with %d, %s: it was not left to end", name, st.ExitCode, st.Reason)
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

// removes waits until the kubelet has removed the sandboxes of a pod that has ended,
// which it does once a minute.
func (k *kubeletPlace) removes(name string) {
	k.t.Helper()
	eventually(k.t, "the kubelet removes the sandboxes of "+name, func() bool {
		for _, p := range rawPods(k.t, k.client) {
			if p.name == name+k.node {
				return false
			}
		}
		return true
	}, func() string { return k.does("orphans") })
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
