package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/worker"
)

// A pod with a readiness gate is ready once somebody has set its condition, for as long as
// that is True, and also under the podctl that follows.
func TestReadinessGateFollowsTheConditionThatOthersSet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const gate = "example.com/on"
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1", "readinessGates: [{conditionType: "+gate+"}]")
		is := func(status v1.ConditionStatus) func(Info) bool {
			return func(i Info) bool {
				return conditionOf(&i.Status, v1.PodReady).Status == status && i.Status.Phase == v1.PodRunning
			}
		}
		set := func(p *podctl, status v1.ConditionStatus) {
			t.Helper()
			if err := p.SetCondition("default", "web", v1.PodCondition{Type: gate, Status: status, Reason: "Registered", Message: "at the balancer"}); err != nil {
				t.Error(err)
			}
		}
		p := w.podctl("run-a", web)
		p.until("web", "running, not ready", is(v1.ConditionFalse))
		set(p, v1.ConditionTrue)
		i := p.until("web", "ready", is(v1.ConditionTrue))
		if c := conditionOf(&i.Status, gate); c.Reason != "Registered" || c.Message != "at the balancer" || c.LastTransitionTime.IsZero() {
			t.Errorf("condition %+v", c)
		}
		p.kill()
		p = w.podctl("run-b", web)
		p.until("web", "ready after a restart", is(v1.ConditionTrue))
		time.Sleep(2 * time.Minute)
		p.until("web", "still ready", is(v1.ConditionTrue))
		set(p, v1.ConditionUnknown)
		p.until("web", "not ready", is(v1.ConditionFalse))
		set(p, v1.ConditionTrue)
		p.until("web", "ready again", is(v1.ConditionTrue))
		set(p, "")
		i = p.until("web", "without the condition", is(v1.ConditionFalse))
		if c := conditionOf(&i.Status, v1.PodReady); !strings.Contains(c.Message, "does not exist") {
			t.Errorf("Ready is %+v", c)
		}
		if got := w.calls("StopContainer"); len(got) > 0 {
			t.Errorf("calls: %v", got)
		}
		p.drain()
		w.empty()
	})
}

func TestStoppingPodKeepsConditionsOfOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const gate = "example.com/on"
		p := w.podctl("run-a", podYAML("web", "trap : TERM; while true; do sleep 1; done", "terminationGracePeriodSeconds: 30", "readinessGates: [{conditionType: "+gate+"}]"))
		p.until("web", "running", func(i Info) bool { return i.Status.Phase == v1.PodRunning })
		if err := p.SetCondition("default", "web", v1.PodCondition{Type: gate, Status: v1.ConditionTrue}); err != nil {
			t.Fatal(err)
		}
		p.until("web", "ready", func(i Info) bool { return conditionOf(&i.Status, v1.PodReady).Status == v1.ConditionTrue })
		stopped := make(chan error, 1)
		go func() { stopped <- p.Stop(t.Context(), "default", "web", nil) }()
		time.Sleep(10 * time.Second)
		i := p.until("web", "terminating", func(i Info) bool { return i.WorkerPhase == worker.Terminating })
		if c := conditionOf(&i.Status, gate); c.Status != v1.ConditionTrue {
			t.Errorf("condition %+v of %+v", c, i.Status.Conditions)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		p.drain()
	})
}

// A manifest sets conditions of others, too. A condition that podctl condition has set
// counts until that removes it.
func TestReadinessGateFollowsTheConditionsOfTheManifest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const gate = "example.com/on"
		version := func(conditions string) string {
			return podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1", "readinessGates: [{conditionType: "+gate+"}]") +
				"status: {conditions: [" + conditions + "]}\n"
		}
		is := func(status v1.ConditionStatus, reason string) func(Info) bool {
			return func(i Info) bool {
				return i.Status.Phase == v1.PodRunning && conditionOf(&i.Status, v1.PodReady).Status == status && conditionOf(&i.Status, gate).Reason == reason
			}
		}
		const on, off = "{type: " + gate + ", status: \"True\", reason: Manifest}, {type: Ready, status: \"False\", reason: Forged}", "{type: " + gate + ", status: \"False\", reason: Gone}"
		p := w.podctl("run-a", version(""))
		p.until("web", "running, not ready", is(v1.ConditionFalse, ""))
		p.want(version(on))
		i := p.until("web", "ready", is(v1.ConditionTrue, "Manifest"))
		began := conditionOf(&i.Status, gate).LastTransitionTime
		if began.IsZero() || conditionOf(&i.Status, v1.PodReady).Reason == "Forged" {
			t.Errorf("conditions %+v", i.Status.Conditions)
		}
		time.Sleep(2 * time.Minute)
		i = p.until("web", "still ready", is(v1.ConditionTrue, "Manifest"))
		if c := conditionOf(&i.Status, gate); !c.LastTransitionTime.Equal(&began) {
			t.Errorf("its transition moved from %s to %s", began, c.LastTransitionTime)
		}
		p.kill()
		p = w.podctl("run-b", version(on))
		p.until("web", "ready after a restart", is(v1.ConditionTrue, "Manifest"))

		set := func(status v1.ConditionStatus) error {
			return p.SetCondition("default", "web", v1.PodCondition{Type: gate, Status: status, Reason: "Command"})
		}
		if err := set(v1.ConditionFalse); err != nil {
			t.Error(err)
		}
		p.until("web", "not ready by the command", is(v1.ConditionFalse, "Command"))
		p.want(version(strings.Replace(on, "Manifest", "Again", 1)))
		time.Sleep(time.Minute)
		p.until("web", "still not ready", is(v1.ConditionFalse, "Command"))
		if err := set(""); err != nil {
			t.Error(err)
		}
		p.until("web", "ready by the manifest", is(v1.ConditionTrue, "Again"))
		if err := set(""); err == nil || !strings.Contains(err.Error(), "the manifest sets it") {
			t.Errorf("removing the manifest's: %v", err)
		}
		p.want(version(off))
		p.until("web", "not ready by the manifest", is(v1.ConditionFalse, "Gone"))
		p.want(version(on))
		p.until("web", "ready again", is(v1.ConditionTrue, "Manifest"))
		p.want(version(""))
		p.until("web", "without the condition", is(v1.ConditionFalse, ""))
		if got := w.calls("StopContainer", "RunPodSandbox"); len(got) != 1 {
			t.Errorf("calls: %v", got)
		}
		p.drain()
		w.empty()
	})
}

// A status says nothing of what is desired: a stopped pod stays stopped.
func TestConditionsOfTheManifestDoNotStartAStoppedPod(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
			on := web + "status: {conditions: [{type: example.com/on, status: \"True\"}]}\n"
			p := w.podctl("agent", web)
			p.until("web", "running", running)
			if err := p.Stop(t.Context(), "default", "web", nil); err != nil {
				t.Fatal(err)
			}
			if dead {
				p.kill()
				p = w.podctl("agent", on)
			} else {
				p.want(on)
			}
			time.Sleep(time.Minute)
			p.until("web", "stopped still", stopped)
			if got := w.calls("StartContainer"); len(got) != 1 {
				t.Errorf("dead=%v: started: %v", dead, got)
			}
			p.drain()
		})
	}
}

func TestConditionsThatOthersMaySet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		p.until("web", "running", running)
		for _, c := range []struct{ condition, status, want string }{
			{"Ready", "True", "podctl sets it itself"},
			{"DisruptionTarget", "True", "podctl sets it itself"},
			{"example.com/on", "yes", `status "yes" is not True, False or Unknown`},
			{"a b", "True", "must consist of alphanumeric characters"},
		} {
			err := p.SetCondition("default", "web", v1.PodCondition{Type: v1.PodConditionType(c.condition), Status: v1.ConditionStatus(c.status)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s=%s: %v, want %q", c.condition, c.status, err, c.want)
			}
		}
		if err := p.SetCondition("default", "web", v1.PodCondition{Type: "a/b", Status: v1.ConditionTrue}); err != nil {
			t.Error(err)
		}
		p.until("web", "shown with a condition that is no gate", func(i Info) bool { return conditionOf(&i.Status, "a/b").Status == v1.ConditionTrue })
		if err := p.SetCondition("default", "absent", v1.PodCondition{Type: "a", Status: v1.ConditionTrue}); !errors.Is(err, ErrNoPod) {
			t.Errorf("error %v", err)
		}
		p.drain()
	})
}

// A record that is too large is not read again, and with it is lost that a pod is stopped.
func TestConditionsOfOthersFitInTheRecord(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		p.until("web", "running", running)
		var err error
		for n := 0; n < 100 && err == nil; n++ {
			c := v1.PodCondition{Type: v1.PodConditionType(fmt.Sprintf("a/%d", n)), Status: v1.ConditionTrue, Message: strings.Repeat("\x00", 8<<10)}
			err = p.SetCondition("default", "web", c)
		}
		if err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%v, want that the conditions are too large", err)
		}
		if err := p.SetCondition("default", "web", v1.PodCondition{Type: "a/0"}); err != nil {
			t.Errorf("remove one: %v", err)
		}
		p.drain()
		w.empty()
	})
}
