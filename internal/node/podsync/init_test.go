package podsync_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

func initPod(policy v1.RestartPolicy, init ...v1.Container) *v1.Pod {
	p := podOf(policy, container("c"))
	p.Spec.InitContainers = init
	return defaulted(p)
}

func TestInitContainersRunOneAfterTheOther(t *testing.T) {
	p := initPod(v1.RestartPolicyAlways, container("i1"), container("i2"))
	for _, c := range []struct {
		why  string
		st   []string
		want string
	}{
		{"the first is first", nil, "init i1"},
		{"one that runs is waited for", []string{"i1=running"}, "-"},
		{"one that was created and not started is started again", []string{"i1=created"}, "init i1"},
		{"a success lets the next begin", []string{"i1=exited:0"}, "init i2"},
		{"a failure is repeated", []string{"i1=exited:3"}, "init i1"},
		{"the second is waited for", []string{"i2=running", "i1=exited:0"}, "-"},
		{"the last success lets the containers begin", []string{"i2=exited:0", "i1=exited:0"}, "start c"},
		{"earlier ones may be gone", []string{"i2=exited:0"}, "start c"},
		{"once a container runs they are done with, even if gone", []string{"c=running"}, "-"},
		{"once a container runs a failure is history", []string{"c=running", "i2=exited:1"}, "-"},
		{"a container that has ended shows that they completed, even if gone", []string{"c=exited:1"}, "start c"},
		{"only the last run of each stays", []string{"i1=exited:0", "i1=exited:1", "i1=exited:1"}, "remove i1-2, remove i1-1, init i2"},
		{"a lost one is killed and repeated", []string{"i1=unknown"}, "kill i1-1 Unknown, init i1"},
	} {
		t.Run(c.why, func(t *testing.T) { wantPlan(t, p, statusOf(c.st...), c.want) })
	}
}

func TestInitContainersRunAgainInNewSandbox(t *testing.T) {
	p := initPod(v1.RestartPolicyAlways, container("i1"), container("i2"))
	st := statusOf("c=exited:255", "i2=exited:0", "i1=exited:0")
	st.Sandboxes = append([]*pod.SandboxStatus{{ID: "s2", State: pod.Running, IPs: st.IPs, CreatedAt: t0.Add(time.Hour)}}, st.Sandboxes...)
	st.Sandboxes[1].State = pod.Exited // before a reboot
	wantPlan(t, p, st, "init i1")
}

func TestFailedInitContainerFailsPodWithoutRestarts(t *testing.T) {
	p := initPod(v1.RestartPolicyNever, container("i1"), container("i2"))
	wantPlan(t, p, statusOf("i1=exited:3"), "killpod")
	wantPlan(t, p, statusOf("i1=unknown"), "killpod")

	st := statusOf("i1=exited:0")
	st.Containers[0].Reason = "OOMKilled"
	wantPlan(t, p, st, "killpod")

	onFailure := v1.ContainerRestartPolicyOnFailure
	p.Spec.InitContainers[0].RestartPolicy = &onFailure
	wantPlan(t, p, statusOf("i1=exited:3"), "init i1")
}

func TestSidecarsKeepRunning(t *testing.T) {
	p := initPod(v1.RestartPolicyNever, sidecar("s1"), container("i"), sidecar("s2"))
	for _, c := range []struct {
		why  string
		st   []string
		want string
	}{
		{"a running one lets the next begin", []string{"s1=running"}, "init i"},
		{"one that exits before that starts again", []string{"s1=exited:0"}, "init s1"},
		{"the last one lets the containers begin", []string{"s2=running", "i=exited:0", "s1=running"}, "start c"},
		{"one that exits later starts again beside the others", []string{"i=running", "s1=exited:1"}, "init s1"},
		{"several start in the order of the pod", []string{"c=running", "s2=exited:1", "i=exited:0", "s1=exited:0"}, "init s1, init s2"},
		{"one that is gone starts again once the pod runs", []string{"c=running", "s2=running"}, "init s1"},
		{"a lost one is killed and started again", []string{"c=running", "s2=unknown", "s1=running"}, "kill s2-2 Unknown, init s2"},
		{"one that is down does not end the init phase", []string{"s2=exited:0", "i=exited:0", "s1=running"}, "init s2"},
	} {
		t.Run(c.why, func(t *testing.T) { wantPlan(t, p, statusOf(c.st...), c.want) })
	}
}

func TestSidecarStartupProbeBlocksNextContainers(t *testing.T) {
	p := initPod(v1.RestartPolicyAlways, sidecar("s"), container("i"))
	p.Spec.InitContainers[0].StartupProbe = &v1.Probe{}
	p.Spec.InitContainers[0].LivenessProbe = &v1.Probe{}
	for want, probes := range map[string]pod.ProbeResults{
		"-":                             {},
		"init i":                        {Startup: map[string]pod.ProbeResult{"s-1": pod.ProbeSuccess}},
		"kill s-1 StartupProbe, init s": {Startup: map[string]pod.ProbeResult{"s-1": pod.ProbeFailure}},
		"kill s-1 LivenessProbe, init s, init i": {
			Startup:  map[string]pod.ProbeResult{"s-1": pod.ProbeSuccess},
			Liveness: map[string]pod.ProbeResult{"s-1": pod.ProbeFailure},
		},
	} {
		got := podsync.Actions(p, statusOf("s=running"), podsync.ActionInput{Probes: probes})
		if planText(got) != want {
			t.Errorf("with %+v: plan is %q; want %q", probes, planText(got), want)
		}
	}
}

func TestChangedSidecarRestarts(t *testing.T) {
	p := initPod(v1.RestartPolicyAlways, sidecar("s"))
	st := statusOf("c=running", "s=running")
	st.Containers[1].Hash = "1234"
	wantPlan(t, p, st, "kill s-1, init s")
	st.Containers[1].State = pod.Exited
	wantPlan(t, p, st, "init s")
}
