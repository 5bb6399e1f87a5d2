package event

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestText(t *testing.T) {
	for _, tt := range []struct {
		ev   Event
		want string
	}{
		{Event{Reason: Pulling, Message: `Pulling image "x"`, Image: &Image{Name: "x"}}, `Pulling image "x"`},
		{Event{Reason: Exited, Container: "c", Exit: &Exit{Code: 137, OOM: true, Reason: "OOMKilled", Seconds: 90}}, "c exited 137 after 1m30s, OOMKilled"},
		{Event{Reason: Exited, Container: "c", Exit: &Exit{Code: 143, OOM: true, Reason: "OOMKilled"}}, "c exited 143, the runtime reports OOMKilled"},
		{Event{Reason: Exited, Container: "c", Exit: &Exit{Code: 1, Reason: "Error", Message: " no config\n", Seconds: 0.25}}, `c exited 1 after 250ms: "no config"`},
		{Event{Reason: Running, Container: "c"}, "c runs"},
		{Event{Reason: ResizeStarted, Message: `Pod resize started: {"containers":[]}`, Resize: &Resize{Containers: []ResizedContainer{
			{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("100m")}, Limits: v1.ResourceList{"cpu": resource.MustParse("200m"), "memory": resource.MustParse("64Mi")}}}, {Name: "d"},
		}}}, "resize started: c cpu 100m of 200m, memory up to 64Mi"},
		{Event{Reason: ResizeError, Message: "Pod resize error: {}", Resize: &Resize{Error: "device busy"}}, "resize failed: device busy"},
		{Event{Reason: Ended, Phase: v1.PodFailed}, "the pod has failed"},
		{Event{Reason: Ended, Phase: v1.PodFailed, End: &End{Reason: "Evicted", Message: "full"}}, "the pod has failed: Evicted: full"},
		{Event{Reason: Ended, Phase: v1.PodSucceeded}, "the pod has succeeded"},
		{Event{Reason: Preempting, Victims: []string{"default/a"}}, "waits until default/a has ended to make room"},
		{Event{Reason: Preempting, Victims: []string{"default/a", "default/b"}}, "waits until default/a, default/b have ended to make room"},
		{Event{Reason: Terminating, Stop: &Stop{Grace: 30}}, "stopping, up to 30s"},
		{Event{Reason: Terminating, Stop: &Stop{}}, "stopping"},
		{Event{Reason: Terminating, Stop: &Stop{Why: ByCommand, Grace: 30}}, "stopping: podctl stop, up to 30s"},
		{Event{Reason: Terminating, Stop: &Stop{Why: ManifestChanged}}, "stopping: its manifest changed"},
		{Event{Reason: Terminating, Stop: &Stop{Why: ManifestRemoved}}, "stopping: its manifest was removed"},
		{Event{Reason: Terminating, Stop: &Stop{Why: Shutdown, Grace: 1}}, "stopping, up to 1s"},
		{Event{Reason: SandboxReady, Addresses: []string{"10.88.0.7", "fd00::7"}}, "sandbox ready, 10.88.0.7, fd00::7"},
		{Event{Reason: SandboxReady}, "sandbox ready, on the host network"},
		{Event{Reason: RuntimeDown, Failure: &Failure{Text: "connection refused"}}, "the runtime does not answer: connection refused"},
		{Event{Reason: Adopted, Adoption: Restarts}, "the pod was being stopped: it stops, and then starts again"},
	} {
		if got := tt.ev.Text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.ev.Reason, got, tt.want)
		}
	}
}

func TestExitHasSignalAndDuration(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ended := func(code int32, reason string) *v1.ContainerStateTerminated {
		return &v1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: metav1.Time{Time: start}, FinishedAt: metav1.Time{Time: start.Add(2 * time.Second)}}
	}
	for _, tt := range []struct {
		state *v1.ContainerStateTerminated
		want  Exit
	}{
		{ended(0, "Completed"), Exit{Reason: "Completed", Seconds: 2}},
		{ended(137, "OOMKilled"), Exit{Code: 137, Signal: 9, OOM: true, Reason: "OOMKilled", Seconds: 2}},
		{ended(143, "Error"), Exit{Code: 143, Signal: 15, Reason: "Error", Seconds: 2}},
		{ended(128, "StartError"), Exit{Code: 128, Reason: "StartError", Seconds: 2}},
		{ended(255, "Error"), Exit{Code: 255, Reason: "Error", Seconds: 2}},
		{&v1.ContainerStateTerminated{ExitCode: 1}, Exit{Code: 1}},
	} {
		if got := *ExitOf(tt.state); got != tt.want {
			t.Errorf("%+v, want %+v", got, tt.want)
		}
	}
}

// A container that is killed for a probe, or for its hook, says which and why.
func TestKillTextNamesProbe(t *testing.T) {
	for _, c := range []struct {
		event Event
		want  string
	}{
		{Event{Reason: Killing, Message: "Container web failed liveness probe, will be restarted",
			Probe: &Probe{Type: LivenessProbe, Result: ProbeFailed, Failures: 3, Output: "HTTP probe failed with statuscode: 500"}},
			"Container web failed liveness probe, will be restarted: liveness failed 3 times: HTTP probe failed with statuscode: 500"},
		{Event{Reason: Killing, Message: "Stopping container web"}, "Stopping container web"},
		{Event{Reason: FailedPostStartHook, Message: "PostStartHook failed", Failure: &Failure{Text: "Exec lifecycle hook ([false]) failed"}}, "Exec lifecycle hook ([false]) failed"},
		{Event{Reason: FailedPostStartHook, Message: "PostStartHook failed"}, "PostStartHook failed"},
	} {
		if got := c.event.Text(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
