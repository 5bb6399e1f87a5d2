package runview

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// verdictOf is what a run of one pod ends with.
func verdictOf(ready bool, said []string, i node.Info) string {
	o := Outcome{
		Want: []node.Desired{{Pod: i.Pod}}, Last: map[types.UID]node.Info{i.Pod.UID: i}, Ready: ready,
		Said: func(node.Info, v1.ContainerStatus) []string { return said },
	}
	if err := o.Verdict(o.Failures(), nil); err != nil {
		return err.Error()
	}
	return ""
}

// hinted is an error with a way out.
type hinted struct{ error }

func (hinted) Hint() string { return "rename it" }

func TestFailureReasons(t *testing.T) {
	never := ended("web", 128, "StartError", `exec: "/no/such": no such file`)
	never.State.Terminated.StartedAt = metav1.Time{}
	for _, c := range []struct {
		name   string
		change func(*node.Info)
		want   []string
	}{
		{"exit code", func(i *node.Info) { setContainers(i, ended("web", 3, "Error", ""), runs("cache")) },
			[]string{"  default/web/web exited 3"}},
		{"each container", func(i *node.Info) {
			setContainers(i, ended("web", 137, "OOMKilled", ""), ended("cache", 1, "Error", ""))
		},
			[]string{"  default/web/web exited 137, OOMKilled", "  default/web/cache exited 1"}},
		{"a process that never was", func(i *node.Info) { setContainers(i, never) },
			[]string{`  default/web/web exited 128, StartError: exec: "/no/such": no such file`}},
		{"image", func(i *node.Info) { setContainers(i, waits("web", "ErrImagePull", "not found"), runs("cache")) },
			[]string{"  default/web/web: ErrImagePull: not found"}},
		{"back-off", func(i *node.Info) {
			c := waits("web", "CrashLoopBackOff", "back-off 20s")
			c.LastTerminationState = ended("", 7, "Error", "").State
			setContainers(i, c)
		}, []string{"  default/web/web: CrashLoopBackOff: back-off 20s (last exit 7)"}},
		{"the pod's reason comes first", func(i *node.Info) {
			i.Status.Reason, i.Status.Message = "DeadlineExceeded", "was active too long"
			setContainers(i, ended("web", 137, "Error", ""))
		}, []string{"  default/web: DeadlineExceeded: was active too long", "  default/web/web exited 137"}},
		{"an error in between", func(i *node.Info) {
			i.LastError.Text = "network is not ready"
			setContainers(i, waits("web", "ContainerCreating", ""))
		}, []string{"  default/web: network is not ready"}},
		{"nothing else to say", func(i *node.Info) { i.WorkerPhase = worker.Terminating }, []string{"  default/web is terminating"}},
		{"rejected, with the way out", func(i *node.Info) { i.Rejected = hinted{errors.New("name is taken")} },
			[]string{"  default/web: name is taken", "  hint: rename it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Join(append([]string{"1 of 1 pods failed"}, c.want...), "\n")
			if got := verdictOf(false, nil, web(c.change)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestPodsThatDidNotFail(t *testing.T) {
	ready := []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	for _, c := range []struct {
		name, wait string
		change     func(*node.Info)
	}{
		{"success", "complete", func(i *node.Info) { i.Status.Phase = v1.PodSucceeded }},
		{"success is better than ready", "ready", func(i *node.Info) { i.Status.Phase = v1.PodSucceeded }},
		{"ready", "ready", func(i *node.Info) { i.Status.Conditions = ready }},
	} {
		if got := verdictOf(c.wait == "ready", nil, web(c.change)); got != "" {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if got := verdictOf(false, nil, web(func(i *node.Info) { i.Status.Conditions = ready })); got == "" {
		t.Error("ready, but completion was waited for: no failure")
	}
}

func TestTimeoutErrorSaysWhyPodIsNotReady(t *testing.T) {
	i := web(func(i *node.Info) {
		i.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Message: "containers with unready status: [web]"}}
		i.Unready = []event.Unready{{Container: "web", Probe: event.Probe{Type: "Readiness", Result: event.ProbeFailed, Output: "connection refused", Failures: 3}}}
	})
	got := verdictOf(true, nil, i)
	if want := "1 of 1 pods failed\n  default/web is not ready: web: readiness failed 3 times: connection refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFailureShowsLastLogLines(t *testing.T) {
	got := verdictOf(false, []string{"one", "two"}, web(func(i *node.Info) { setContainers(i, ended("web", 1, "Error", "")) }))
	if want := "1 of 1 pods failed\n  default/web/web exited 1; its last lines:\n  > one\n  > two"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
