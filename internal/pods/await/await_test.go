package await

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/testkit/testutil"
)

func TestParseRefusesWhatIsNoCondition(t *testing.T) {
	for _, text := range []string{"", "ready", "delete=1", "condition", "condition=", "exit=x", "exit=", "jsonpath=", "jsonpath={.a", "jsonpath={.a}b", "jsonpath={.a}="} {
		_, err := Parse(text)
		if hint.Of(err) != "one of: "+Forms {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
	bare := func(sandbox pod.State, containers ...pod.State) *view.Pod {
		return &view.Pod{Metadata: view.Metadata{Name: "bare"}, Runtime: testutil.ListedPod("bare", "", sandbox, containers...)}
	}
	restarted := bare(pod.Running, pod.Running, pod.Exited)
	restarted.Runtime.Containers[1].Name = restarted.Runtime.Containers[0].Name
	owned := bare(pod.Running, pod.Running)
	owned.Object = &v1.Pod{Status: v1.PodStatus{Conditions: []v1.PodCondition{
		{Type: v1.PodInitialized, Status: v1.ConditionTrue},
		{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "ContainersNotReady", Message: "unready: a"},
	}}}
	exited := Seen{
		Pod: bare(pod.Exited, pod.Exited), Container: &pod.Container{State: pod.Exited}, Status: &pod.ContainerStatus{ExitCode: 3},
	}
	data := map[string]any{"phase": "Running", "ready": float64(1), "ips": []any{"10.0.0.7"}}
	rejected := &view.Pod{Metadata: view.Metadata{Name: "rejected"}, Worker: control.Worker{Rejected: "NodePorts: taken"}}
	ended := &view.Pod{Metadata: view.Metadata{Name: "ended"}, Object: &v1.Pod{Status: v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "disk"}}}
	for _, c := range []struct {
		condition string
		seen      Seen
		want      string // met, failed or waits
		last      string
	}{
		{"condition=Ready", Seen{Pod: bare(pod.Running, pod.Running, pod.Running)}, "met", "Ready is True: 2 of 2 containers run"},
		{"condition=Ready", Seen{Pod: bare(pod.Running, pod.Running, pod.Exited)}, "waits", "Ready is False: 1 of 2 containers run"},
		{"condition=Ready", Seen{Pod: restarted}, "met", "Ready is True: 1 of 1 containers run"},
		{"condition=Ready", Seen{Pod: bare(pod.Running)}, "waits", "Ready is False: 0 of 0 containers run"},
		{"condition=Ready", Seen{Pod: bare(pod.Exited, pod.Running)}, "waits", "Ready is False: its sandbox is not ready"},
		{"condition=Ready=false", Seen{Pod: bare(pod.Exited)}, "met", "Ready is False: its sandbox is not ready"},
		{"condition=Ready", Seen{Pod: &view.Pod{Metadata: view.Metadata{Name: "waits"}}}, "waits", "Ready is False: its sandbox is not ready"},
		{"condition=Initialized", Seen{Pod: bare(pod.Running)}, "failed", "no owner shows the pod's status, so that only Ready is known, not Initialized"},
		{"condition=Ready", Seen{Pod: owned}, "waits", "Ready is False: ContainersNotReady: unready: a"},
		{"condition=initialized", Seen{Pod: owned}, "met", "Initialized is True"},
		{"condition=Ready=False", Seen{Pod: owned}, "met", "Ready is False: ContainersNotReady: unready: a"},
		{"condition=Other", Seen{Pod: owned}, "waits", "its status has no condition Other"},
		{"condition=Ready", Seen{}, "failed", "the pod is gone"},
		{"condition=Ready", Seen{Pod: rejected}, "failed", "the pod was rejected: NodePorts: taken"},
		{"condition=ContainersReady", Seen{Pod: ended}, "failed", "the pod has ended: Failed: Evicted: disk"},
		{"condition=Ready=False", Seen{Pod: rejected}, "met", "Ready is False: its sandbox is not ready"},
		{"condition=Other", Seen{Pod: ended}, "waits", "its status has no condition Other"},
		{"exit", Seen{Pod: rejected}, "failed", "the pod was rejected: NodePorts: taken"},
		{"exit", Seen{Pod: ended}, "failed", "the pod has ended: Failed: Evicted: disk"},

		{"delete", Seen{}, "met", "the runtime holds nothing of it"},
		{"delete", Seen{Pod: &view.Pod{Metadata: view.Metadata{Name: "stopped"}}}, "met", "the runtime holds nothing of it"},
		{"delete", Seen{Pod: bare(pod.Exited, pod.Running)}, "waits", "the runtime still has: sandboxes 1, containers 1, running 1"},

		{"exit", exited, "met", "it exited 3"},
		{"exit=3", exited, "met", "it exited 3"},
		{"exit=0", exited, "failed", "it exited 3"},
		{"exit", Seen{Pod: bare(pod.Running), Container: &pod.Container{State: pod.Running}}, "waits", "the container is running"},
		{"exit", Seen{Pod: bare(pod.Running), Container: &pod.Container{State: pod.Exited}}, "waits", "the container is exited"},
		{"exit", Seen{Pod: bare(pod.Running)}, "waits", "the container is not created"},
		{"exit", Seen{Vanished: true}, "met", "the container is gone, and its exit code with it"},
		{"exit=0", Seen{Vanished: true}, "failed", "the container is gone, and its exit code with it"},
		{"exit", Seen{}, "failed", "the pod is gone"},

		{"jsonpath={.phase}=Running", Seen{Pod: bare(pod.Running), Data: data}, "met", `it is "Running"`},
		{"jsonpath=.phase=Running", Seen{Pod: bare(pod.Running), Data: data}, "met", `it is "Running"`},
		{"jsonpath={.phase}=Failed", Seen{Pod: bare(pod.Running), Data: data}, "waits", `it is "Running"`},
		{"jsonpath={.ready}=1", Seen{Pod: bare(pod.Running), Data: data}, "met", `it is "1"`},
		{"jsonpath={.ips[0]}", Seen{Pod: bare(pod.Running), Data: data}, "met", `it is "10.0.0.7"`},
		{"jsonpath={.missing}", Seen{Pod: bare(pod.Running), Data: data}, "waits", `it is ""`},
		{`jsonpath={.ips[?(@=="10.0.0.7")]}=10.0.0.7`, Seen{Pod: bare(pod.Running), Data: data}, "met", `it is "10.0.0.7"`},
		{"jsonpath={.phase}", Seen{}, "failed", "the pod is gone"},
	} {
		condition, err := Parse(c.condition)
		if err != nil {
			t.Errorf("%s: %v", c.condition, err)
			continue
		}
		r := condition.Check(c.seen)
		got := "waits"
		switch {
		case r.Met && r.Failed:
			got = "met and failed"
		case r.Met:
			got = "met"
		case r.Failed:
			got = "failed"
		}
		if got != c.want || r.Last != c.last {
			t.Errorf("%s: %s, %q; want %s, %q", c.condition, got, r.Last, c.want, c.last)
		}
	}
}

func TestTheExitCodeIsPartOfTheResult(t *testing.T) {
	c, err := Parse("exit")
	if err != nil {
		t.Fatal(err)
	}
	r := c.Check(Seen{Pod: &view.Pod{}, Container: &pod.Container{State: pod.Exited}, Status: &pod.ContainerStatus{ExitCode: 137}})
	if r.ExitCode == nil || *r.ExitCode != 137 {
		t.Errorf("%+v", r)
	}
}
