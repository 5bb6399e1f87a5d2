package podsync_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

var update = flag.Bool("update", false, "rewrite testdata/status")

// statusCase is one status to compute.
type statusCase struct {
	// name is the golden file's, why the kubelet's rule that it shows.
	name, why string
	pod       *v1.Pod
	st        *pod.Status
	in        podsync.StatusInput
}

// TestStatusMatchesKubelet compares whole statuses with testdata/status.
func TestStatusMatchesKubelet(t *testing.T) {
	for _, c := range statusCases() {
		t.Run(c.name, func(t *testing.T) {
			in := c.in
			in.Now, in.HostIPs, in.RuntimeName = t0.Add(time.Minute), []string{"192.0.2.1"}, "containerd"
			got, err := yaml.Marshal(keptStatus(c.pod, c.st, in))
			if err != nil {
				t.Fatal(err)
			}
			text := "# " + c.why + "\n" + string(got)
			path := filepath.Join("testdata", "status", c.name+".yaml")
			if *update {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("status differs from %s (-want +got):\n%s", path, diff)
			}
		})
	}
}

func statusCases() []statusCase {
	always, never := v1.RestartPolicyAlways, v1.RestartPolicyNever
	waiting := func(name, reason, message string) podsync.StatusInput {
		return podsync.StatusInput{Waiting: map[string]podsync.Waiting{name: {Reason: reason, Message: message}}}
	}
	return []statusCase{
		{"nothing-yet", "Before anything exists every container waits: ContainerCreating.", podOf(never, container("c")), &pod.Status{}, podsync.StatusInput{}},
		{"initializing", "With init containers the others wait: PodInitializing.", initPod(never, container("i")), running(statusOf("i=running")), podsync.StatusInput{}},
		{"running", "A container without probes is started and ready while it runs.", withResources(podOf(always, container("c"))), running(statusOf("c=running")), uncreated(always)},
		{"recursive-read-only", "Whether a mount is read-only all the way down is what the runtime made of it.", withResources(podOf(always, container("c"))), recursive(running(statusOf("c=running"))), uncreated(always)},
		{"sidecar-running", "A sidecar counts for readiness; an init container that ended well is ready.",
			initPod(always, sidecar("s"), container("i")), running(statusOf("c=running", "i=exited:0", "s=running")), podsync.StatusInput{}},
		{"probes-pending", "With probes that have not answered a running container is neither started nor ready.",
			withProbes(podOf(always, container("c"))), running(statusOf("c=running")), podsync.StatusInput{}},
		{"probes-done", "Probes that succeeded make it started and ready.", withProbes(podOf(always, container("c"))), running(statusOf("c=running")),
			podsync.StatusInput{Probes: pod.ProbeResults{
				Startup: map[string]pod.ProbeResult{"c-1": pod.ProbeSuccess}, Readiness: map[string]pod.ProbeResult{"c-1": pod.ProbeSuccess},
			}}},
		{"succeeded", "All exited with 0 and none starts again: Succeeded.", podOf(never, container("c")), reasons(statusOf("c=exited:0")), podsync.StatusInput{}},
		{"failed", "One failed and none starts again: Failed.", podOf(never, container("b"), container("a")), reasons(statusOf("a=exited:3", "b=exited:0")), podsync.StatusInput{}},
		{"oom", "The runtime's reason is shown: OOMKilled.", podOf(never, container("c")), oom(statusOf("c=exited:137")), podsync.StatusInput{}},
		{"crash-loop", "A crash in back-off is waiting, its end the last state, the pod still Running.", podOf(always, container("c")), reasons(statusOf("c=exited:1", "c=exited:1")),
			waiting("c", "CrashLoopBackOff", "back-off 10s restarting failed container=c pod=p_default(uid)")},
		{"restarted", "A restarted container has its former end as its last state.", podOf(always, container("c")), reasons(running(statusOf("c=running", "c=exited:2"))), podsync.StatusInput{}},
		{"image-pull", "A container whose image cannot be had waits with that reason, the pod is Pending.", podOf(always, container("c")), statusOf(),
			waiting("c", "ErrImagePull", "connection refused")},
		{"init-failed", "An init container that failed for good fails the pod.", initPod(never, container("i")), reasons(statusOf("i=exited:3")), podsync.StatusInput{}},
		{"init-crash-loop", "One that starts again keeps it Pending.", initPod(always, container("i")), reasons(statusOf("i=exited:3")),
			waiting("i", "CrashLoopBackOff", "back-off")},
		{"init-removed", "Init containers that the runtime has forgotten ended well, once containers exist.", initPod(always, container("i")), running(statusOf("c=running")), podsync.StatusInput{}},
		{"host-network", "A pod on the host's network has the host's addresses.", hostNetwork(podOf(always, container("c"))), hostSandbox(running(statusOf("c=running"))), podsync.StatusInput{}},
		{"created", "Created and not started is waiting, without a reason.", podOf(always, container("c")), statusOf("c=created"), podsync.StatusInput{}},
		{"lost", "A container that was running and is gone ended with ContainerStatusUnknown.", podOf(never, container("c")), statusOf(),
			podsync.StatusInput{Old: &v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
				Name: "c", ContainerID: "containerd://c-1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
			}}}}},
		{"unknown-state", "So did one whose state the runtime has lost.", podOf(never, container("c")), statusOf("c=unknown"),
			podsync.StatusInput{Old: &v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
				Name: "c", ContainerID: "containerd://c-1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
			}}}}},
		{"deadline", "activeDeadlineSeconds are counted from the start time and fail the pod while it runs.", deadline(podOf(always, container("c"))), running(statusOf("c=running")), podsync.StatusInput{}},
		{"ended-always", "A pod that is ended is terminal, even with the policy Always.", podOf(always, container("c")), reasons(statusOf("c=exited:137")), podsync.StatusInput{Ended: true}},
		{"ended-crash-loop", "How the last run of a pod that has ended did so is its last state too, as it was while it waited to restart.", podOf(always, container("c")), reasons(statusOf("c=exited:1")),
			podsync.StatusInput{Ended: true, Old: crashLooping(always)}},
		{"terminal-stays", "A terminal phase is final, and so are its reason and times.", podOf(never, container("c")), running(statusOf("c=running")),
			podsync.StatusInput{Old: evicted()}},
		{"disrupted", "The condition that an eviction left stays.", podOf(always, container("c")), reasons(statusOf("c=exited:137")),
			podsync.StatusInput{Ended: true, Old: &v1.PodStatus{Conditions: []v1.PodCondition{
				{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "TerminationByKubelet", Message: "making room"},
			}}}},
		{"restart-all-asked", "An exit that a rule answers with RestartAllContainers has begun it.", restartsAll(never), reasons(statusOf("a=exited:42", "b=running")), podsync.StatusInput{}},
		{"restart-all-removed", "Removed containers wait, their runs counted and lost; the pod goes on Running.", restartsAll(never), statusOf(),
			podsync.StatusInput{Old: new(keptStatus(restartsAll(never), reasons(statusOf("a=exited:42", "b=running")), podsync.StatusInput{Now: t0}))}},
		{"restart-all-again", "Restarted, they run with that as their last state, and the restart is over.", restartsAll(never), running(statusOf("a=running", "b=running")),
			podsync.StatusInput{Old: restartAllRemoved(never)}},
	}
}

// uncreated is the input of a pod whose container was not created before.
func uncreated(policy v1.RestartPolicy) podsync.StatusInput {
	old := keptStatus(withResources(podOf(policy, container("c"))), statusOf(), podsync.StatusInput{Now: t0})
	return podsync.StatusInput{Old: &old}
}

// restartsAll is a pod whose container a has all containers restart when
// it exits with 42.
func restartsAll(policy v1.RestartPolicy) *v1.Pod {
	p := podOf(policy, container("a"), container("b"))
	own := v1.ContainerRestartPolicyNever
	p.Spec.Containers[0].RestartPolicy = &own
	p.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
	}}
	return p
}

func restartAllRemoved(policy v1.RestartPolicy) *v1.PodStatus {
	p := restartsAll(policy)
	asked := keptStatus(p, reasons(statusOf("a=exited:42", "b=running")), podsync.StatusInput{Now: t0})
	return new(keptStatus(p, statusOf(), podsync.StatusInput{Old: &asked, Now: t0}))
}

// crashLooping is the status of a pod whose container waits to start again.
func crashLooping(policy v1.RestartPolicy) *v1.PodStatus {
	return new(keptStatus(podOf(policy, container("c")), reasons(statusOf("c=exited:1")), podsync.StatusInput{
		Now: t0, RuntimeName: "containerd", Waiting: map[string]podsync.Waiting{"c": {Reason: "CrashLoopBackOff"}},
	}))
}

func TestTerminationMessagesShareLimit(t *testing.T) {
	p := podOf(v1.RestartPolicyNever, container("a"), container("b"), container("c"), container("d"))
	st := reasons(statusOf("a=exited:1", "b=exited:1", "c=exited:1", "d=exited:1"))
	for _, cs := range st.Containers {
		cs.Message = strings.Repeat("x", 4096)
	}
	for _, cs := range keptStatus(p, st, podsync.StatusInput{Now: t0}).ContainerStatuses {
		if n := len(cs.State.Terminated.Message); n != 3072 {
			t.Errorf("%s says %d bytes; want a quarter of 12 KiB", cs.Name, n)
		}
	}
}

func TestPodIPsOnePerFamilyNodeFamilyFirst(t *testing.T) {
	st := running(statusOf("c=running"))
	st.IPs = []string{"10.88.0.7", "fd00::7", "10.88.0.8"}
	s := keptStatus(podOf(v1.RestartPolicyAlways, container("c")), st, podsync.StatusInput{Now: t0, HostIPs: []string{"2001:db8::1"}})
	if s.PodIP != "fd00::7" || !slices.Equal(s.PodIPs, []v1.PodIP{{IP: "fd00::7"}, {IP: "10.88.0.7"}}) {
		t.Errorf("addresses %s, %v", s.PodIP, s.PodIPs)
	}
}

func running(st *pod.Status) *pod.Status {
	for i, cs := range st.Containers {
		cs.StartedAt = t0
		cs.RestartCount = int32(len(st.Containers) - 1 - i)
		cs.Image, cs.ImageRef = testImage, "sha256:busybox"
	}
	return st
}

func reasons(st *pod.Status) *pod.Status {
	for _, cs := range running(st).Containers {
		if cs.State == pod.Exited {
			cs.Reason = map[bool]string{true: "Completed", false: "Error"}[cs.ExitCode == 0]
			cs.Message = "last words of " + cs.ID
		}
	}
	return st
}

func oom(st *pod.Status) *pod.Status {
	running(st).Containers[0].Reason = "OOMKilled"
	return st
}

func withProbes(p *v1.Pod) *v1.Pod {
	p.Spec.Containers[0].StartupProbe, p.Spec.Containers[0].ReadinessProbe = &v1.Probe{}, &v1.Probe{}
	return p
}

func withResources(p *v1.Pod) *v1.Pod {
	c := &p.Spec.Containers[0]
	c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
	c.VolumeMounts = []v1.VolumeMount{{Name: "v", MountPath: "/v", ReadOnly: true}}
	return p
}

func recursive(st *pod.Status) *pod.Status {
	st.Containers[0].Mounts = []pod.Mount{{ContainerPath: "/v", ReadOnly: true, RecursiveReadOnly: true}}
	return st
}

func hostNetwork(p *v1.Pod) *v1.Pod {
	p.Spec.HostNetwork = true
	return p
}

func hostSandbox(st *pod.Status) *pod.Status {
	st.IPs, st.Sandboxes[0].IPs, st.Sandboxes[0].HostNetwork = nil, nil, true
	return st
}

func deadline(p *v1.Pod) *v1.Pod {
	seconds := int64(60)
	p.Spec.ActiveDeadlineSeconds = &seconds
	return p
}

func evicted() *v1.PodStatus {
	start, change := metav1Time(t0.Add(-time.Hour)), metav1Time(t0.Add(-time.Minute))
	return &v1.PodStatus{
		Phase: v1.PodFailed, Reason: "Preempting", Message: "Preempted in order to admit critical pod", StartTime: &start,
		Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: change}},
	}
}

func TestForeignConditionsAndReadinessGatesAreKept(t *testing.T) {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/on"}}
	ready := func() v1.PodCondition {
		s := keptStatus(p, running(statusOf("c=running")), podsync.StatusInput{Now: t0})
		for _, c := range s.Conditions {
			if c.Type == v1.PodReady {
				return c
			}
		}
		t.Fatal("no Ready condition")
		return v1.PodCondition{}
	}
	if c := ready(); c.Status != v1.ConditionFalse || c.Reason != "ReadinessGatesNotReady" {
		t.Errorf("without the gate's condition Ready is %s %s", c.Status, c.Reason)
	}
	p.Status.Conditions = []v1.PodCondition{{Type: "example.com/on", Status: v1.ConditionTrue}}
	if c := ready(); c.Status != v1.ConditionTrue {
		t.Errorf("with the gate's condition Ready is %s %s", c.Status, c.Reason)
	}
}

func TestTransitionTimeChangesWithConditionStatus(t *testing.T) {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	first := keptStatus(p, statusOf(), podsync.StatusInput{Now: t0})
	second := keptStatus(p, running(statusOf("c=running")), podsync.StatusInput{Old: &first, Now: t0.Add(time.Minute)})
	for _, c := range second.Conditions {
		want := t0
		if c.Type == v1.PodReady || c.Type == v1.ContainersReady {
			want = t0.Add(time.Minute)
		}
		if !c.LastTransitionTime.Time.Equal(want) {
			t.Errorf("%s changed at %v; want %v", c.Type, c.LastTransitionTime, want)
		}
	}
	if !second.StartTime.Equal(first.StartTime) {
		t.Errorf("start time moved from %v to %v", first.StartTime, second.StartTime)
	}
}

// keptStatus is the status as it is kept, of a pod that the API server holds
// with a start time.
func keptStatus(p *v1.Pod, st *pod.Status, in podsync.StatusInput) v1.PodStatus {
	held := *p
	held.Status.StartTime = new(metav1Time(t0))
	p = &held
	s, err := podsync.Settle(p, in.Old, podsync.PodStatus(p, st, in), in.Now)
	if err != nil {
		panic(err)
	}
	return s
}

func TestAdoptedPodStartTimeIsFirstSandbox(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		b.mustSync(p)
		created := b.rt.snapshot().Sandboxes[0].CreatedAt
		time.Sleep(time.Hour)
		b.syncer.Forget(p.UID) // as a podctl that starts remembers nothing
		res := b.mustSync(p)
		if got, want := res.Status.StartTime.Time, created.Truncate(time.Second); !got.Equal(want) {
			t.Errorf("start time %v; want %v", got, want)
		}
	})
}

func TestAdoptedPodStatusHasMounts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := withResources(podOf(v1.RestartPolicyAlways, container("c")))
		st := recursive(running(statusOf("c=running")))
		res, err := b.syncer.Sync(t.Context(), podsync.SyncInput{Pod: p, Status: st})
		if err != nil {
			t.Fatal(err)
		}
		enabled := v1.RecursiveReadOnlyEnabled
		want := []v1.VolumeMountStatus{{Name: "v", MountPath: "/v", ReadOnly: true, RecursiveReadOnly: &enabled}}
		if diff := cmp.Diff(want, res.Status.ContainerStatuses[0].VolumeMounts); diff != "" {
			t.Errorf("mounts (-want +got):\n%s", diff)
		}
	})
}

func TestSettleRejectsTransitionFromTerminated(t *testing.T) {
	p := podOf(v1.RestartPolicyNever, container("a"), container("b"))
	old := keptStatus(p, running(statusOf("a=exited:1", "b=running")), podsync.StatusInput{Now: t0})
	next := podsync.PodStatus(p, running(statusOf("a=running", "b=running")), podsync.StatusInput{Old: &old, Now: t0})
	_, err := podsync.Settle(p, &old, next, t0)
	if err == nil || !strings.HasPrefix(err.Error(), `terminated container "a" `) {
		t.Errorf("error %v; want one about container a", err)
	}
}

func TestSettleReturnsUnchangedStatus(t *testing.T) {
	p := podOf(v1.RestartPolicyNever, container("c"))
	old := keptStatus(p, running(statusOf("c=running")), podsync.StatusInput{Now: t0})
	next := podsync.PodStatus(p, running(statusOf("c=running")), podsync.StatusInput{Old: &old, Now: t0})
	next.Conditions = append(next.Conditions, v1.PodCondition{Type: "example.com/other", Status: v1.ConditionTrue})
	got, err := podsync.Settle(p, &old, next, t0.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(old, got); diff != "" {
		t.Errorf("(-old +got):\n%s", diff)
	}
}

// The kubelet's feature gate ContainerStopSignals is off: a status shows the signal of a
// container whose manifest names one, which podctl honours, and of no other.
func TestStatusShowsStopSignalOnlyWhereTheManifestNamesOne(t *testing.T) {
	named := container("named")
	named.Lifecycle = &v1.Lifecycle{StopSignal: new(v1.SIGUSR1)}
	st := running(statusOf("named=running", "plain=running"))
	for _, c := range st.Containers {
		c.StopSignal = "SIGUSR1"
	}
	for _, s := range keptStatus(podOf(v1.RestartPolicyAlways, named, container("plain")), st, podsync.StatusInput{Now: t0}).ContainerStatuses {
		if (s.StopSignal != nil) != (s.Name == "named") {
			t.Errorf("container %s shows the stop signal %v", s.Name, s.StopSignal)
		}
	}
}
