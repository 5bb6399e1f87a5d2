package look

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
)

// Why a pod is not ready: the probes that failed with what they said, a failed
// hook, or what the kubelet says of a pod of its own.
func TestNotReadySaysWhy(t *testing.T) {
	failed := event.Probe{Type: event.ReadinessProbe, Result: event.ProbeFailed, Failures: 3, Output: "connection refused"}
	object := &v1.Pod{}
	object.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Message: "containers with unready status: [c]"}}
	crashed := object.DeepCopy()
	crashed.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}}}}
	ready := object.DeepCopy()
	ready.Status.Conditions[0].Status = v1.ConditionTrue
	for _, c := range []struct {
		name string
		pod  view.Pod
		want string
	}{
		{"a probe", view.Pod{Manager: &control.Process{}, Worker: control.Worker{Unready: []event.Unready{{Container: "c", Probe: failed}}}}, "c: readiness failed 3 times: connection refused"},
		{"a hook", view.Pod{Manager: &control.Process{}, Worker: control.Worker{Waiting: []control.Waiting{{Container: "c", Reason: "PostStartHookError", Message: "exit 1"}}}}, "c: PostStartHookError: exit 1"},
		{"a readiness gate", view.Pod{Manager: &control.Process{}, Worker: control.Worker{NotReady: "gate lb is False"}}, "gate lb is False"},
		{"ready", view.Pod{Manager: &control.Process{}}, ""},
		{"a kubelet's", view.Pod{Runtime: &pod.Pod{}, Object: object}, "containers with unready status: [c]"},
		{"a kubelet's that crashed", view.Pod{Runtime: &pod.Pod{}, Object: crashed}, "c: CrashLoopBackOff: back-off 10s"},
		{"a kubelet's that is ready", view.Pod{Runtime: &pod.Pod{}, Object: ready}, ""},
	} {
		d := NewPodData(&c.pod)
		if got := d.NotReady(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
