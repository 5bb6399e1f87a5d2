package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// probedYAML is a pod whose container c sleeps and has fields of its own. Its grace
// period is no multiple of a probe's period of 2s: a probe that is due when the
// container restarts is asked or not.
func probedYAML(name string, fields ...string) string {
	return strings.Replace(podYAML(name, "echo up > /up; sleep 3600", "terminationGracePeriodSeconds: 21"),
		"- {name: c, ", "- {name: c, "+strings.Join(append(fields, ""), ", "), 1)
}

// messages are the messages of the events of a reason.
func (p *podctl) messages(reason string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, ev := range p.events {
		if ev.Reason == reason {
			all = append(all, ev.Message)
		}
	}
	return all
}

// when is the time of the first event of a reason.
func (p *podctl) when(reason string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ev := range p.events {
		if ev.Reason == reason {
			return ev.Time
		}
	}
	p.t.Errorf("no event %s in %v", reason, p.events)
	return time.Time{}
}

// exec runs a command in the only pod's container, as a user would.
func (p *podctl) exec(command string) {
	p.t.Helper()
	_, id, _ := strings.Cut(p.Pods()[0].Status.ContainerStatuses[0].ContainerID, "://")
	if _, err := p.client.ExecSync(p.t.Context(), id, []string{"sh", "-c", command}, 0); err != nil {
		p.t.Error(err)
	}
}

func ready(i Info) bool   { return i.Ready() }
func unready(i Info) bool { return i.Status.Phase == v1.PodRunning && !i.Ready() }

func restarts(n int32) func(Info) bool {
	return func(i Info) bool {
		s := i.Status.ContainerStatuses
		return len(s) > 0 && s[0].RestartCount == n && s[0].State.Running != nil
	}
}

func TestPodsShowContainerBackOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", "exit 1"))
		i := p.until("web", "in back-off", func(i Info) bool { return len(i.BackOffs) > 0 })
		end := i.Status.ContainerStatuses[0].LastTerminationState.Terminated.FinishedAt
		if got := i.BackOffs["c"]; got.Delay != 10*time.Second || got.RetryAt.Sub(end.Time).Round(time.Second) != got.Delay {
			t.Errorf("%+v, ended at %s", got, end)
		}
		p.drain()
	})
}

func TestReadinessSetsConditionOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", probedYAML("web",
			`readinessProbe: {exec: {command: [test, -e, /ready]}, periodSeconds: 1, failureThreshold: 2}`))
		p.until("web", "running", unready)
		time.Sleep(10 * time.Second)
		if i := p.until("web", "not ready", unready); *i.Status.ContainerStatuses[0].Started != true {
			t.Error("a container without startup probe has not started")
		}
		p.exec("touch /ready")
		p.until("web", "ready", ready)
		p.exec("rm /ready")
		p.until("web", "not ready again", unready)
		if got := p.messages(event.NotReady); !slices.Equal(got, []string{"containers with unready status: [c]"}) {
			t.Errorf("not ready: %q", got)
		}
		if n := len(w.calls("StartContainer")); n != 1 {
			t.Errorf("%d starts; want 1", n)
		}
		if got := p.messages("Unhealthy"); len(got) < 5 || got[0] != "Readiness probe failed: " {
			t.Errorf("unhealthy: %q", got)
		}
		p.drain()
		w.empty()
	})
}

// TestAdoptedPodIsAsReadyAsItWas: until its probe has a result, as a kubelet has it from the API server.
func TestAdoptedPodIsAsReadyAsItWas(t *testing.T) {
	for name, wasReady := range map[string]bool{"ready": true, "not ready": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				web := probedYAML("web", `readinessProbe: {exec: {command: [test, -e, /ready]}, periodSeconds: 1, failureThreshold: 30}`)
				p := w.podctl("run-a", web)
				p.until("web", "running", unready)
				p.exec("touch /ready")
				first := p.until("web", "ready", ready)
				since := conditionOf(&first.Status, v1.PodReady).LastTransitionTime
				if !wasReady {
					p.exec("rm /ready")
					p.until("web", "not ready", unready)
				}
				time.Sleep(time.Minute)
				p.exec("rm -f /ready")
				p.kill()
				p = w.podctl("run-b", web)
				i := p.until("web", "adopted", func(i Info) bool { return i.Status.Phase == v1.PodRunning })
				if c := conditionOf(&i.Status, v1.PodReady); i.Ready() != wasReady || wasReady && !c.LastTransitionTime.Equal(&since) {
					t.Errorf("%+v, want ready %v since %v", c, wasReady, since)
				}
				p.until("web", "not ready by its probe", unready)
				if got := w.calls("StopContainer"); len(got) > 0 {
					t.Errorf("calls: %v", got)
				}
				p.drain()
			})
		})
	}
}

func TestFailedLivenessRestartsWithProbeGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", probedYAML("web",
			`livenessProbe: {exec: {command: [test, -e, /up]}, periodSeconds: 1, failureThreshold: 3, terminationGracePeriodSeconds: 5}`,
			`lifecycle: {preStop: {exec: {command: [sleep, "1"]}}}`))
		p.until("web", "running", running)
		time.Sleep(5 * time.Second)
		if n := len(p.messages("Unhealthy")); n > 0 {
			t.Fatalf("%d unhealthy", n)
		}
		p.exec("rm /up")
		p.until("web", "restarted", restarts(1))
		if got := p.messages("Killing"); !slices.Equal(got, []string{"Container c failed liveness probe, will be restarted"}) {
			t.Errorf("killing: %q", got)
		}
		stops := w.sim.Calls("StopContainer")
		if len(stops) == 0 || !strings.Contains(fmt.Sprint(stops[0].Request), "timeout:4") {
			t.Errorf("stopped with %v; want the probe's five seconds less the hook's one", stops)
		}
		if n := len(p.messages("Unhealthy")); n != 3 {
			t.Errorf("%d failures before the restart; want 3, and none while it is stopped", n)
		}
		p.drain()
		w.empty()
	})
}

func TestFailedStartupProbeRestartsBeforeLiveness(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", probedYAML("web",
			`startupProbe: {exec: {command: [test, -e, /started]}, periodSeconds: 2, failureThreshold: 5}`,
			`livenessProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 1}`))
		i := p.until("web", "running", unready)
		if *i.Status.ContainerStatuses[0].Started {
			t.Error("started before its startup probe succeeded")
		}
		p.until("web", "restarted", restarts(1))
		if got := p.messages("Killing"); !slices.Equal(got, []string{"Container c failed startup probe, will be restarted"}) {
			t.Errorf("killing: %q", got)
		}
		if got := p.messages("Unhealthy"); len(got) != 5 || got[4] != "Startup probe failed: " {
			t.Errorf("unhealthy: %q; want the startup probe's only", got)
		}
		p.exec("touch /started")
		p.until("web", "restarted by its liveness", restarts(2))
		if got := p.messages("Killing"); got[1] != "Container c failed liveness probe, will be restarted" {
			t.Errorf("killing: %q", got)
		}
		p.drain()
		w.empty()
	})
}

func TestSidecarStartupDelaysNextContainers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", "sleep 3600", "initContainers:",
			`- {name: s, image: "busybox:1", restartPolicy: Always, command: [sh, -c, "sleep 7; touch /up; sleep 3600"],`,
			`   startupProbe: {exec: {command: [test, -e, /up]}, periodSeconds: 1, failureThreshold: 20}}`,
			"terminationGracePeriodSeconds: 2"))
		i := p.until("web", "running", running)
		var sidecar, c time.Time
		sidecar = i.Status.InitContainerStatuses[0].State.Running.StartedAt.Time
		c = i.Status.ContainerStatuses[0].State.Running.StartedAt.Time
		if held := c.Sub(sidecar); held < 6900*time.Millisecond || held > 9*time.Second {
			t.Errorf("the container started %s after its sidecar; want it to wait for the seven seconds of startup", held)
		}
		p.drain()
		w.empty()
	})
}

func TestReadinessIsProbedAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", probedYAML("web", `readinessProbe: {exec: {command: ["true"]}, periodSeconds: 600}`))
		p.until("web", "ready", ready)
		if took := p.when(event.Ready).Sub(p.when("Started")); took > 2*time.Second {
			t.Errorf("ready %s after its start", took)
		}
		p.drain()
		w.empty()
	})
}

func TestTerminatingPodIsProbedForReadinessOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", probedYAML("web",
			`readinessProbe: {exec: {command: [test, -e, /up]}, periodSeconds: 1, failureThreshold: 1}`,
			`livenessProbe: {exec: {command: [test, -e, /up]}, periodSeconds: 1, failureThreshold: 1}`,
			`lifecycle: {preStop: {exec: {command: [sh, -c, "rm /up; sleep 10"]}}}`))
		p.until("web", "ready", ready)
		p.want()
		p.until("web", "not ready", func(i Info) bool { return i.WorkerPhase == worker.Terminating && !isReady(&i.Status) })
		p.drain()
		for _, m := range p.messages("Unhealthy") {
			if !strings.HasPrefix(m, "Readiness") {
				t.Errorf("while it ended: %s", m)
			}
		}
		if n := len(p.messages("Unhealthy")); n < 5 {
			t.Errorf("readiness was asked %d times in ten seconds", n)
		}
		w.empty()
	})
}

func TestProbesOfAdoptedPodRestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		text := probedYAML("web",
			`readinessProbe: {exec: {command: ["true"]}, periodSeconds: 10}`,
			`startupProbe: {exec: {command: ["true"]}, periodSeconds: 10}`)
		a := w.podctl("run-a", text)
		a.until("web", "ready", ready)
		a.kill()
		b := w.podctl("run-b", text)
		if i := b.until("web", "adopted", func(i Info) bool { return i.Adopted && i.Status.Phase != "" }); i.Ready() {
			t.Error("ready before it was asked")
		}
		b.until("web", "ready", ready)
		if n := len(w.calls("StartContainer")); n != 1 {
			t.Errorf("%d starts; want 1", n)
		}
		b.drain()
		w.empty()
	})
}

func TestUnknownProbePortIsReportedAndIgnored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", probedYAML("web",
			`livenessProbe: {tcpSocket: {port: nope}, periodSeconds: 1, failureThreshold: 1}`))
		p.until("web", "running", running)
		time.Sleep(5 * time.Second)
		const want = `Liveness probe errored and resulted in unknown state: port "nope" not found`
		if got := p.messages("Unhealthy"); len(got) < 4 || got[0] != want {
			t.Errorf("unhealthy: %q; want %s", got, want)
		}
		if n := len(w.calls("StartContainer")); n != 1 {
			t.Errorf("%d starts; want 1", n)
		}
		p.drain()
		w.empty()
	})
}

func TestProbesOfSixtyPodsCauseNoOtherCalls(t *testing.T) {
	const pods = 60
	inWorld(t, func(t *testing.T, w *world) {
		var texts []string
		for i := range pods {
			texts = append(texts, probedYAML(fmt.Sprint("web", i),
				`startupProbe: {exec: {command: ["true"]}, periodSeconds: 1}`,
				`readinessProbe: {exec: {command: ["true"]}, periodSeconds: 5}`))
		}
		p := w.podctl("run-a", texts...)
		for i := range pods {
			p.until(fmt.Sprint("web", i), "ready", ready)
		}
		time.Sleep(5 * time.Second)
		calls := func() int { return len(w.sim.Calls("ContainerStatus", "PodSandboxStatus", "ExecSync")) }
		before := calls()
		time.Sleep(50 * time.Second)
		if n := calls() - before; n < 10*pods || n > 11*pods {
			t.Errorf("%d calls in 50 seconds; want the ten of each readiness probe", n)
		}
		p.drain()
		w.empty()
	})
}
