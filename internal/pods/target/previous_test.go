package target

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pods/view"
)

// What kubectl logs --previous prints by the kubelet, for each state of a container.
func TestPreviousIsLastTermination(t *testing.T) {
	waiting := &v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	running := &v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	ended := &v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	const (
		onlyNewest = "container default/web/c has no previous attempt | the runtime has its newest attempt only"
		hasExited  = onlyNewest + ", which has exited: it is shown without --previous"
	)
	for _, c := range []struct {
		rule, attempts string // oldest first
		status         *v1.ContainerState
		want           string
	}{
		{"running, first attempt", "c#0", running, onlyNewest},
		{"running, restarted", "c#0- c#1- c#2", running, "c#1"},
		{"running, and its status is not known", "c#0- c#1- c#2", nil, "c#1"},
		{"crash loop: the newest has ended and is started again", "c#0- c#1- c#2-", waiting, "c#2"},
		{"crash loop, others were removed", "c#2-", waiting, "c#2"},
		{"crash loop, a start failed: the newest was created only", "c#0- c#1- c#2+", waiting, "c#1"},
		{"started again before the status says so", "c#0- c#1- c#2", waiting, "c#1"},
		{"created for the first time", "c#0+", waiting, onlyNewest},
		{"ended for good", "c#0- c#1-", ended, "c#0"},
		{"ended for good, first attempt", "c#0-", ended, hasExited},
		{"ended, and nobody reports a status: nothing starts it again", "c#0- c#1-", nil, "c#0"},
		{"ended, first attempt, and nobody reports a status", "c#0-", nil, hasExited},
	} {
		p := example("default/web", strings.Fields(c.attempts)...)
		if c.status != nil {
			p.Object = &v1.Pod{Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "c", State: *c.status}}}}
		}
		found, err := One([]*view.Pod{p}, Query{Words: []string{"web"}, Previous: true})
		got := answer(nil, err)
		if err == nil {
			got = "c#" + string(rune('0'+found.Container.Attempt))
		}
		if got != c.want {
			t.Errorf("%s: %s:\n got %s\nwant %s", c.rule, c.attempts, got, c.want)
		}
		needs := c.status == nil && strings.HasSuffix(c.attempts, "-")
		if found, _ := One([]*view.Pod{p}, Query{Words: []string{"web"}}); needsStatus(found) != needs {
			t.Errorf("%s: %s: needsStatus is %t", c.rule, c.attempts, !needs)
		}
	}
}
