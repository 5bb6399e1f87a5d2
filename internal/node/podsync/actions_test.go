package podsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// statusOf is a pod with one good sandbox and these containers, newest first,
// each written as name=state: "c=running", "i=exited:3", "c=created".
func statusOf(containers ...string) *pod.Status {
	st := &pod.Status{UID: testUID, Name: "p", Namespace: "default", IPs: []string{"10.88.0.7"}}
	st.Sandboxes = []*pod.SandboxStatus{{ID: "s1", State: pod.Running, IPs: st.IPs, CreatedAt: t0}}
	for i, text := range containers {
		name, state, _ := strings.Cut(text, "=")
		cs := &pod.ContainerStatus{ID: fmt.Sprintf("%s-%d", name, len(containers)-i), SandboxID: "s1", Name: name, CreatedAt: t0}
		state, code, exited := strings.Cut(state, ":")
		switch state {
		case "created":
			cs.State = pod.Created
		case "running":
			cs.State = pod.Running
		case "exited":
			cs.State, cs.FinishedAt = pod.Exited, t0.Add(time.Second)
		}
		if exited {
			if _, err := fmt.Sscan(code, &cs.ExitCode); err != nil {
				panic(err)
			}
		}
		st.Containers = append(st.Containers, cs)
	}
	return st
}

// planText is a plan in one line.
func planText(p podsync.Plan) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if p.KillPod {
		add("killpod")
	}
	for _, k := range p.Kill {
		add("%s", strings.TrimSpace(fmt.Sprintf("kill %s %s", k.ID, k.Reason)))
	}
	for _, r := range p.Reset {
		add("reset %s", r.ID)
	}
	for _, id := range p.Remove {
		add("remove %s", id)
	}
	if p.CreateSandbox {
		add("sandbox#%d", p.Attempt)
	}
	for _, s := range p.Init {
		add("init %s", s.Container.Name)
	}
	for _, s := range p.Containers {
		add("start %s", s.Container.Name)
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func plan(p *v1.Pod, st *pod.Status) podsync.Plan {
	return podsync.Actions(p, st, podsync.ActionInput{Now: t0.Add(time.Hour)})
}

func wantPlan(t *testing.T, p *v1.Pod, st *pod.Status, want string) {
	t.Helper()
	if got := planText(plan(p, st)); got != want {
		t.Errorf("plan is %q; want %q", got, want)
	}
}

// TestRestartPolicyByStateAndExitCode is the matrix of restart policy
// and container state; a second container keeps the pod alive.
func TestRestartPolicyByStateAndExitCode(t *testing.T) {
	const start, keep = "start c", "-"
	for _, row := range []struct {
		state                    string
		always, onFailure, never string
	}{
		{"", start, start, start},
		{"c=created", start, start, start},
		{"c=running", keep, keep, keep},
		{"c=exited:0", start, keep, keep},
		{"c=exited:1", start, start, keep},
		{"c=unknown", "kill c-1 Unknown, start c", "kill c-1 Unknown, start c", "kill c-1 Unknown, start c"},
	} {
		for policy, want := range map[v1.RestartPolicy]string{
			v1.RestartPolicyAlways: row.always, v1.RestartPolicyOnFailure: row.onFailure, v1.RestartPolicyNever: row.never,
		} {
			t.Run(string(policy)+" "+row.state, func(t *testing.T) {
				st := statusOf("other=running")
				if row.state != "" {
					st.Containers = append(st.Containers, statusOf(row.state).Containers...)
				}
				wantPlan(t, podOf(policy, container("c"), container("other")), st, want)
			})
		}
	}
}

func TestContainerRestartPolicyOverridesPod(t *testing.T) {
	never, onFailure := v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure
	in := func(op v1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) []v1.ContainerRestartRule {
		return []v1.ContainerRestartRule{{
			Action: v1.ContainerRestartRuleActionRestart, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: op, Values: codes},
		}}
	}
	for name, c := range map[string]struct {
		pod   v1.RestartPolicy
		own   *v1.ContainerRestartPolicy
		rules []v1.ContainerRestartRule
		code  int32
		want  string
	}{
		"own Never in an Always pod":           {v1.RestartPolicyAlways, &never, nil, 1, "-"},
		"own OnFailure in a Never pod fails":   {v1.RestartPolicyNever, &onFailure, nil, 1, "start c"},
		"own OnFailure in a Never pod is done": {v1.RestartPolicyNever, &onFailure, nil, 0, "-"},
		"a rule names the code":                {v1.RestartPolicyNever, &never, in(v1.ContainerRestartRuleOnExitCodesOpIn, 42), 42, "start c"},
		"a rule names another code":            {v1.RestartPolicyNever, &never, in(v1.ContainerRestartRuleOnExitCodesOpIn, 42), 1, "-"},
		"a rule excludes another code":         {v1.RestartPolicyNever, &never, in(v1.ContainerRestartRuleOnExitCodesOpNotIn, 42), 1, "start c"},
		"a rule excludes the code":             {v1.RestartPolicyNever, &never, in(v1.ContainerRestartRuleOnExitCodesOpNotIn, 42), 42, "-"},
		"rules without an own policy are mute": {v1.RestartPolicyNever, nil, in(v1.ContainerRestartRuleOnExitCodesOpIn, 42), 42, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			p := podOf(c.pod, container("c"), container("other"))
			p.Spec.Containers[0].RestartPolicy, p.Spec.Containers[0].RestartPolicyRules = c.own, c.rules
			wantPlan(t, p, statusOf(fmt.Sprintf("c=exited:%d", c.code), "other=running"), c.want)
		})
	}
}

func TestFinishedPodIsKilled(t *testing.T) {
	p := podOf(v1.RestartPolicyNever, container("a"), container("b"))
	p.Spec.InitContainers = []v1.Container{sidecar("side")}
	defaulted(p)
	wantPlan(t, p, statusOf("a=exited:0", "b=running", "side=running"), "-")
	wantPlan(t, p, statusOf("a=exited:0", "b=exited:1", "side=running"), "killpod")
}

func TestSandboxCreateOrRecreate(t *testing.T) {
	dead := func(st *pod.Status) { st.Sandboxes[0].State = pod.Exited }
	for name, c := range map[string]struct {
		policy v1.RestartPolicy
		init   bool
		st     *pod.Status
		change func(*pod.Status)
		want   string
	}{
		"there is none": {v1.RestartPolicyNever, false, &pod.Status{}, nil, "killpod, sandbox#0, start c"},
		"there is none, and the first init container leads": {v1.RestartPolicyNever, true, &pod.Status{}, nil, "killpod, sandbox#0, init i"},
		"all are gone, their containers not, policy Never": {v1.RestartPolicyNever, false, statusOf("c=exited:1"),
			func(st *pod.Status) { st.Sandboxes = nil }, "killpod, sandbox#0, start c"},
		"it died": {v1.RestartPolicyAlways, false, statusOf("c=exited:137"), dead, "killpod, sandbox#1, start c"},
		"it died, and init containers start again, their old runs removed": {
			v1.RestartPolicyAlways, true, statusOf("c=exited:137", "i=exited:0", "i=exited:1"), dead,
			"killpod, remove i-2, remove i-1, sandbox#1, init i",
		},
		"it died, and the policy is Never":                 {v1.RestartPolicyNever, false, statusOf("c=exited:137"), dead, "killpod"},
		"it died before any container, policy Never":       {v1.RestartPolicyNever, false, statusOf(), dead, "killpod, sandbox#1, start c"},
		"it died, and all had succeeded, policy OnFailure": {v1.RestartPolicyOnFailure, false, statusOf("c=exited:0"), dead, "killpod"},
		"it died, and one had failed, policy OnFailure":    {v1.RestartPolicyOnFailure, false, statusOf("c=exited:1"), dead, "killpod, sandbox#1, start c"},
		"it has no address":                                {v1.RestartPolicyAlways, false, statusOf("c=running"), func(st *pod.Status) { st.Sandboxes[0].IPs = nil }, "killpod, sandbox#1, start c"},
		"its runtime reports no network": {v1.RestartPolicyAlways, false, statusOf("c=running"), func(st *pod.Status) {
			st.Sandboxes[0].IPs, st.Sandboxes[0].NetworkUnknown = nil, true
		}, "-"},
		"it is on the host's network": {v1.RestartPolicyAlways, false, statusOf("c=running"), func(st *pod.Status) { st.Sandboxes[0].HostNetwork = true }, "killpod, sandbox#1, start c"},
		"two are ready": {v1.RestartPolicyAlways, false, statusOf("c=running"), func(st *pod.Status) {
			st.Sandboxes = slices.Insert(st.Sandboxes, 0, &pod.SandboxStatus{ID: "s2", Attempt: 4, State: pod.Running, IPs: st.IPs})
		}, "killpod, sandbox#5, start c"},
		"an old one is dead": {v1.RestartPolicyAlways, false, statusOf("c=running"), func(st *pod.Status) {
			st.Sandboxes = append(st.Sandboxes, &pod.SandboxStatus{ID: "s0", State: pod.Exited})
		}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			p := podOf(c.policy, container("c"))
			if c.init {
				p.Spec.InitContainers = []v1.Container{container("i")}
			}
			if c.change != nil {
				c.change(c.st)
			}
			wantPlan(t, defaulted(p), c.st, c.want)
		})
	}
}

func TestHostNetworkSandboxNeedsNoAddress(t *testing.T) {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	p.Spec.HostNetwork = true
	st := statusOf("c=running")
	st.Sandboxes[0].HostNetwork, st.Sandboxes[0].IPs = true, nil
	wantPlan(t, p, st, "-")
}

func TestFailedProbeKillsAndPolicyRestarts(t *testing.T) {
	failed := map[string]pod.ProbeResult{"c-2": pod.ProbeFailure}
	for name, c := range map[string]struct {
		policy v1.RestartPolicy
		probes pod.ProbeResults
		want   string
	}{
		"liveness":        {v1.RestartPolicyAlways, pod.ProbeResults{Liveness: failed}, "kill c-2 LivenessProbe, start c"},
		"startup":         {v1.RestartPolicyOnFailure, pod.ProbeResults{Startup: failed}, "kill c-2 StartupProbe, start c"},
		"liveness, Never": {v1.RestartPolicyNever, pod.ProbeResults{Liveness: failed}, "kill c-2 LivenessProbe"},
		"readiness":       {v1.RestartPolicyAlways, pod.ProbeResults{Readiness: failed}, "-"},
		"of another run":  {v1.RestartPolicyAlways, pod.ProbeResults{Liveness: map[string]pod.ProbeResult{"c-0": pod.ProbeFailure}}, "-"},
		"still succeeding": {v1.RestartPolicyAlways, pod.ProbeResults{
			Liveness: map[string]pod.ProbeResult{"c-2": pod.ProbeSuccess}}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			p := podOf(c.policy, container("c"), container("other"))
			got := podsync.Actions(p, statusOf("c=running", "other=running"), podsync.ActionInput{Probes: c.probes})
			if planText(got) != c.want {
				t.Errorf("plan is %q; want %q", planText(got), c.want)
			}
		})
	}
}

func TestChangedImageRestartsWithAnyPolicy(t *testing.T) {
	p := podOf(v1.RestartPolicyNever, container("c"))
	st := statusOf("c=running")
	st.Containers[0].Hash = render.Hash(&p.Spec.Containers[0])
	wantPlan(t, p, st, "-")
	st.Containers[0].Hash = "1234"
	got := plan(p, st)
	if want := "kill c-1, start c"; planText(got) != want {
		t.Errorf("plan is %q; want %q", planText(got), want)
	}
	if want := "Container c definition changed, will be restarted"; got.Kill[0].Message != want {
		t.Errorf("message %q; want %q", got.Kill[0].Message, want)
	}
}

func TestDeletedPodStartsNothing(t *testing.T) {
	p := podOf(v1.RestartPolicyAlways, container("c"), container("other"))
	now := metav1Time(t0)
	p.DeletionTimestamp = &now
	wantPlan(t, p, statusOf("c=exited:1", "other=running"), "-")
}

func TestBackOffEndsInWaitingMessage(t *testing.T) {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	st := statusOf("c=exited:1")
	finished := st.Containers[0].FinishedAt
	var b podsync.Backoff
	b.Next(podsync.BackoffKey(p, &p.Spec.Containers[0]), finished, finished)
	for now, want := range map[time.Duration]time.Time{
		9 * time.Second:  finished.Add(10 * time.Second),
		10 * time.Second: {},
	} {
		got := podsync.Actions(p, st, podsync.ActionInput{Backoff: &b, Now: finished.Add(now)})
		if len(got.Containers) != 1 || !got.Containers[0].NotBefore.Equal(want) {
			t.Errorf("after %v: starts %+v; want one not before %v", now, got.Containers, want)
		}
	}
}
