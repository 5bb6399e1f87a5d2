package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/hint"
)

// hooked is a pod whose program ignores SIGTERM and whose preStop hook takes three of its
// ten seconds.
var hooked = strings.Replace(podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 10"),
	"{name: c,", `{name: c, lifecycle: {preStop: {exec: {command: [sleep, "3"]}}},`, 1)

// restarts restarts a container of default/web.
func (p *podctl) restarts(container string) {
	p.t.Helper()
	if err := p.Restart("default", "web", map[string]string{container: ""}, false); err != nil {
		p.t.Fatal(err)
	}
}

// A requested restart runs the hook once, keeps the grace period and the sandbox, raises
// the restart count by one, and waits for no back-off, however often it is requested.
func TestRequestedRestartIsNoCrash(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", hooked)
		p.until("web", "running", running)
		begin := time.Now()
		p.restarts("c")
		time.Sleep(5 * time.Second)
		p.restarts("c") // while it is in flight
		p.until("web", "restarted", restarts(1))
		if took := time.Since(begin); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("restarted after %s, want the grace period of 10s", took)
		}
		if stops := w.sim.Calls("StopContainer"); len(stops) != 1 || !strings.Contains(fmt.Sprint(stops[0].Request), "timeout:7") {
			t.Errorf("stopped with %v; want once, with the ten seconds less the hook's three", stops)
		}
		if hooks := w.calls("ExecSync"); len(hooks) != 1 {
			t.Errorf("hooks: %v", hooks)
		}
		if got := p.messages("Killing"); !slices.Equal(got, []string{"Container c restart requested, will be restarted"}) {
			t.Errorf("killing: %q", got)
		}
		p.restarts("c")
		p.until("web", "restarted again", restarts(2))
		if took := time.Since(begin); took > 22*time.Second {
			t.Errorf("restarted twice after %s", took)
		}
		time.Sleep(time.Minute)
		if i := p.until("web", "running", running); i.Status.ContainerStatuses[0].RestartCount != 2 {
			t.Errorf("restart count %d", i.Status.ContainerStatuses[0].RestartCount)
		}
		if n := len(w.calls("RunPodSandbox")); n != 1 || slices.Contains(p.reasons(), event.BackOff) {
			t.Errorf("%d sandboxes, events %v", n, p.reasons())
		}
		p.drain()
		w.empty()
	})
}

// A run that the status does not show yet is restarted when its id is named.
func TestRequestedRestartOfRunThatTheStatusDoesNotShow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		slow := strings.Replace(podYAML("web", `trap "exit 0" TERM; sleep 3600 & wait`), "{name: c,", `{name: c, lifecycle: {postStart: {exec: {command: [sleep, "5"]}}},`, 1)
		p := w.podctl("agent", slow)
		i := p.until("web", "running", running)
		p.restarts("c")
		time.Sleep(2 * time.Second) // in the hook of the second attempt
		listed, err := p.client.ListPod(t.Context(), i.Pod.UID)
		if err != nil || listed.Containers[0].Attempt != 1 {
			t.Fatalf("%+v, %v", listed, err)
		}
		if err := p.Restart("default", "web", map[string]string{"c": listed.Containers[0].ID}, false); err != nil {
			t.Fatal(err)
		}
		p.until("web", "restarted twice", restarts(2))
		time.Sleep(time.Minute)
		if n := len(w.calls("StartContainer")); n != 3 {
			t.Errorf("%d starts", n)
		}
		p.drain()
		w.empty()
	})
}

// A container that waits for its back-off starts at once on request. The back-off goes on
// where it was if it crashes again.
func TestRequestedRestartEndsBackOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", podYAML("web", "sleep 1; exit 1"))
		backsOff := func(seconds int) func(Info) bool {
			return func(i Info) bool { return i.BackOffs["c"].Delay == time.Duration(seconds)*time.Second }
		}
		p.until("web", "in its first back-off", backsOff(10))
		p.until("web", "in its second back-off", backsOff(20))
		starts, begin := len(w.calls("StartContainer")), time.Now()
		p.restarts("c")
		p.until("web", "started", func(Info) bool { return len(w.calls("StartContainer")) > starts })
		if took := time.Since(begin); took > time.Second {
			t.Errorf("started after %s", took)
		}
		time.Sleep(2 * time.Second)
		p.until("web", "in the same back-off", backsOff(20))
		p.drain()
		w.empty()
	})
}

// A pod that is stopped while a container of it restarts stays stopped, and the hook is
// not run again.
func TestStopDuringRequestedRestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", hooked)
		p.until("web", "running", running)
		p.restarts("c")
		time.Sleep(time.Second)
		if err := p.Stop(t.Context(), "default", "web", nil); err != nil {
			t.Fatal(err)
		}
		p.until("web", "stopped", stopped)
		if err := p.Restart("default", "web", map[string]string{"c": ""}, false); err == nil || !strings.Contains(err.Error(), "pod default/web is not running") {
			t.Errorf("restart of a stopped pod: %v", err)
		}
		time.Sleep(time.Minute)
		if starts, hooks := w.calls("StartContainer"), w.calls("ExecSync"); len(starts) != 1 || len(hooks) != 1 {
			t.Errorf("starts %v, hooks %v", starts, hooks)
		}
		p.drain()
		w.empty()
	})
}

// A podctl that is killed while a container is stopped for a restart leaves a pod that the
// next one continues: in its sandbox, with one run at a time.
func TestPodctlKilledDuringRequestedRestart(t *testing.T) {
	for name, after := range map[string]time.Duration{"in the hook": time.Second, "in the grace period": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				p := w.podctl("agent", hooked)
				p.until("web", "running", running)
				p.restarts("c")
				time.Sleep(after)
				p.kill()
				p = w.podctl("agent", hooked)
				time.Sleep(20 * time.Second)
				i := p.until("web", "running", running)
				starts := len(w.calls("StartContainer"))
				if n := len(w.calls("RunPodSandbox")); n != 1 || starts != int(i.Status.ContainerStatuses[0].RestartCount)+1 {
					t.Errorf("%d sandboxes, %d starts, restart count %d", n, starts, i.Status.ContainerStatuses[0].RestartCount)
				}
				p.drain()
				w.empty()
			})
		})
	}
}

// A sidecar restarts without the containers beside it; an init container does not, nor one
// whose restart policy does not start it again.
func TestRequestedRestartOfOneContainer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pod := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 2", `initContainers:
  - {name: setup, image: "busybox:1", command: ["true"]}
  - {name: side, image: "busybox:1", restartPolicy: Always, command: [sleep, "3600"]}`) + `  - {name: once, image: "busybox:1", restartPolicy: Never, command: [sleep, "3600"]}
`
		p := w.podctl("agent", pod)
		p.until("web", "running", running)
		p.restarts("side")
		p.until("web", "restarted", func(i Info) bool {
			return running(i) && i.Status.InitContainerStatuses[1].RestartCount == 1
		})
		if got := w.calls("StopContainer"); len(got) != 1 {
			t.Errorf("stopped %v", got)
		}
		for c, want := range map[string]string{
			"setup": "restart default/web/setup: it is an init container: it runs once, before the others",
			"once":  "restart default/web/once: its own restartPolicy Never does not start it again",
			"none":  "restart default/web/none: the pod's spec has no such container",
		} {
			if err := p.Restart("default", "web", map[string]string{"c": "", c: ""}, true); err == nil || err.Error() != want {
				t.Errorf("%s: %v", c, err)
			}
		}
		if err := p.Restart("default", "absent", map[string]string{"c": ""}, false); !errors.Is(err, ErrNoPod) {
			t.Errorf("a pod that is not there: %v", err)
		}
		time.Sleep(time.Minute)
		if got := w.calls("StopContainer"); len(got) != 1 {
			t.Errorf("stopped %v although it was refused", got)
		}
		p.drain()
		w.empty()
	})
}

// A container that starts again only if it fails is restarted with force, also if it ends
// well when it is stopped.
func TestForcedRestartOfContainerThatEndsWell(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", podYAML("job", `trap "exit 0" TERM; sleep 3600 & wait`, "restartPolicy: OnFailure"))
		p.until("job", "running", running)
		err := p.Restart("default", "job", map[string]string{"c": ""}, false)
		if err == nil || !strings.Contains(err.Error(), "restartPolicy OnFailure starts it again with some exit codes only") || hint.Of(err) != "--force restarts it nevertheless" {
			t.Fatalf("without force: %v, hint %q", err, hint.Of(err))
		}
		if err := p.Restart("default", "job", map[string]string{"c": ""}, true); err != nil {
			t.Fatal(err)
		}
		p.until("job", "restarted", restarts(1))
		time.Sleep(time.Minute)
		p.until("job", "running", running)
		p.drain()
		w.empty()
	})
}
