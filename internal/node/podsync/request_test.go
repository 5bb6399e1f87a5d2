package podsync_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/testkit/testutil"
)

// ruled is a container with a restart policy of its own and a rule for exit codes.
func ruled(policy v1.ContainerRestartPolicy, operator v1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) v1.Container {
	c := container("c")
	c.RestartPolicy = &policy
	c.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action: v1.ContainerRestartRuleActionRestart, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes},
	}}
	return c
}

// TestRestartOnRequest records the answer to a request for every policy, state and owner:
// what the container's owner would not start again, or may not, is refused.
func TestRestartOnRequest(t *testing.T) {
	never := v1.ContainerRestartPolicyNever
	own := container("c")
	own.RestartPolicy = &never
	anything := ruled(never, v1.ContainerRestartRuleOnExitCodesOpNotIn)
	pods := []struct {
		name string
		pod  *v1.Pod
	}{
		{"Always", podOf(v1.RestartPolicyAlways, container("c"))},
		{"OnFailure", podOf(v1.RestartPolicyOnFailure, container("c"))},
		{"Never", podOf(v1.RestartPolicyNever, container("c"))},
		{"Always, own Never", podOf(v1.RestartPolicyAlways, own)},
		{"Never, own Never but 42", podOf(v1.RestartPolicyNever, ruled(never, v1.ContainerRestartRuleOnExitCodesOpIn, 42))},
		{"Never, own Never but not in none", podOf(v1.RestartPolicyNever, anything)},
		{"sidecar of Never", withInit(podOf(v1.RestartPolicyNever, container("main")), sidecar("c"))},
		{"init container", withInit(podOf(v1.RestartPolicyAlways, container("main")), container("c"))},
		{"no such container", podOf(v1.RestartPolicyAlways, container("main"))},
	}
	states := []struct {
		name  string
		state v1.ContainerState
	}{
		{"runs", v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		{"exited 0", v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}},
		{"exited 42", v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 42}}},
		{"waits for its back-off", v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
		{"waits for its image", v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}},
		{"not known", v1.ContainerState{}},
	}
	var text strings.Builder
	for _, p := range pods {
		for _, s := range states {
			status := &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "c", State: s.state}}}
			for _, owner := range []string{"podctl", "kubelet"} {
				r := podsync.RestartRequest{Pod: p.pod, Status: status, Container: "c", ByKubelet: owner == "kubelet"}
				err := r.Check()
				answer := "restarted"
				if err != nil {
					answer = err.Error()
				}
				if r.Force = true; err != nil && r.Check() == nil {
					answer += "; restarted with force"
					if hint.Of(err) != "--force restarts it nevertheless" {
						t.Errorf("%s, %s: hint %q", p.name, s.name, hint.Of(err))
					}
				}
				fmt.Fprintf(&text, "%-34s %-24s %-8s %s\n", p.name, s.name, owner, answer)
			}
		}
	}
	testutil.Golden(t, *update, "testdata/restart.txt", text.String())
}

func withInit(p *v1.Pod, c v1.Container) *v1.Pod {
	p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	return defaulted(p)
}

// A request for the whole pod is for what runs or will, without containers that have done
// their work.
func TestRestartOfWholePod(t *testing.T) {
	p := withInit(withInit(podOf(v1.RestartPolicyOnFailure, container("a"), container("done"), container("pulls")), container("setup")), sidecar("side"))
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	done := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	s := &v1.PodStatus{
		InitContainerStatuses: []v1.ContainerStatus{{Name: "setup", State: done}, {Name: "side", State: running}},
		ContainerStatuses:     []v1.ContainerStatus{{Name: "a", State: running}, {Name: "done", State: done}},
	}
	if got := strings.Join(podsync.Restartable(p, s), " "); got != "side a" {
		t.Errorf("restarts %q", got)
	}
}

// A requested restart stops the run that was named, not the one that has followed it, and
// waits for no back-off. A container whose rules decide by its exit code is only stopped.
func TestActionsOnRequest(t *testing.T) {
	var b podsync.Backoff
	p := podOf(v1.RestartPolicyAlways, container("c"))
	b.Next(podsync.BackoffKey(p, &p.Spec.Containers[0]), t0, t0)
	requested := func(id string) podsync.ActionInput {
		return podsync.ActionInput{Requested: map[string]bool{id: true}, Backoff: &b, Now: t0.Add(2)}
	}
	rules := podOf(v1.RestartPolicyNever, ruled(v1.ContainerRestartPolicyNever, v1.ContainerRestartRuleOnExitCodesOpIn, 42))
	side := withInit(podOf(v1.RestartPolicyNever, container("c")), sidecar("s"))
	unknown := withInit(podOf(v1.RestartPolicyNever, container("c")), sidecar("s"))
	unknown.Spec.InitContainers[0].StartupProbe = &v1.Probe{}
	for name, c := range map[string]struct {
		pod  *v1.Pod
		st   *pod.Status
		in   podsync.ActionInput
		want string
	}{
		"it runs":                     {p, statusOf("c=running", "c=exited:1"), requested("c-2"), "kill c-2 RestartRequested, start c"},
		"another run":                 {p, statusOf("c=running", "c=exited:1"), requested("c-1"), "-"},
		"it waits":                    {p, statusOf("c=exited:1"), requested("c-1"), "start c"},
		"its rules decide":            {rules, statusOf("c=running"), requested("c-1"), "kill c-1 RestartRequested"},
		"its rules have decided":      {rules, statusOf("c=exited:42"), requested("c-1"), "start c"},
		"a sidecar":                   {side, statusOf("c=running", "s=running"), requested("s-1"), "kill s-1 RestartRequested, init s"},
		"a sidecar that is starting":  {unknown, statusOf("s=running"), requested("s-1"), "kill s-1 RestartRequested, init s"},
		"another sidecar that starts": {unknown, statusOf("s=running"), requested("s-2"), "-"},
		"a sidecar that has crashed":  {side, statusOf("c=running", "s=exited:1"), requested("s-1"), "init s"},
	} {
		plan := podsync.Actions(c.pod, c.st, c.in)
		if got := planText(plan); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for _, s := range append(plan.Init, plan.Containers...) {
			if !s.NotBefore.IsZero() || !s.FinishedAt.IsZero() {
				t.Errorf("%s: %s waits for a back-off until %s", name, s.Container.Name, s.NotBefore)
			}
		}
	}
}
