package pod

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func waiting(name, reason string) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}}
}

func runs(name string, ready bool) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, Ready: ready, Started: &ready, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
}

func over(name, reason string, code, signal int32) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, RestartCount: 1, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: reason, ExitCode: code, Signal: signal}}}
}

func restarted(c v1.ContainerStatus, times int32) v1.ContainerStatus {
	c.RestartCount = times
	return c
}

// displayed is a pod with init containers i0, i1 …, those with an s sidecars, and
// containers a, b …, by their statuses.
func displayed(init, containers []v1.ContainerStatus, change func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{Status: v1.PodStatus{Phase: v1.PodRunning, InitContainerStatuses: init, ContainerStatuses: containers}}
	always := v1.ContainerRestartPolicyAlways
	for _, c := range init {
		spec := v1.Container{Name: c.Name}
		if strings.HasPrefix(c.Name, "s") {
			spec.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, spec)
	}
	for _, c := range containers {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: c.Name})
	}
	if change != nil {
		change(p)
	}
	return p
}

func TestDisplayMatchesKubectl(t *testing.T) {
	all := func(c ...v1.ContainerStatus) []v1.ContainerStatus { return c }
	condition := func(kind v1.PodConditionType) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Status.Conditions = []v1.PodCondition{{Type: kind, Status: v1.ConditionTrue}}
		}
	}
	for _, c := range []struct {
		name string
		pod  *v1.Pod
		want Display
	}{
		{"pending", displayed(nil, nil, func(p *v1.Pod) { p.Status.Phase = v1.PodPending }), Display{"Pending", 0, 0, 0}},
		{"a reason of the pod", displayed(nil, nil, func(p *v1.Pod) { p.Status.Phase, p.Status.Reason = v1.PodFailed, "Evicted" }), Display{"Evicted", 0, 0, 0}},
		{"created", displayed(nil, all(waiting("a", "ContainerCreating")), nil), Display{"ContainerCreating", 0, 1, 0}},
		{"running", displayed(nil, all(runs("a", true), runs("b", false)), nil), Display{"Running", 1, 2, 0}},
		{"the first one that waits", displayed(nil, all(runs("a", true), waiting("b", "CrashLoopBackOff"), waiting("c", "ImagePullBackOff")), nil), Display{"CrashLoopBackOff", 1, 3, 0}},
		{"completed", displayed(nil, all(over("a", "Completed", 0, 0)), nil), Display{"Completed", 0, 1, 1}},
		{"completed beside one that runs", displayed(nil, all(over("a", "Completed", 0, 0), runs("b", true)), nil), Display{"NotReady", 1, 2, 1}},
		{"of which the pod is ready", displayed(nil, all(over("a", "Completed", 0, 0), runs("b", true)), condition(v1.PodReady)), Display{"Running", 1, 2, 1}},
		{"error", displayed(nil, all(over("a", "Error", 1, 0)), nil), Display{"Error", 0, 1, 1}},
		{"without a reason", displayed(nil, all(over("a", "", 3, 0)), nil), Display{"ExitCode:3", 0, 1, 1}},
		{"by a signal", displayed(nil, all(over("a", "", 137, 9)), nil), Display{"Signal:9", 0, 1, 1}},
		{"second init container", displayed(all(over("i0", "Completed", 0, 0), runs("i1", false)), all(waiting("a", "PodInitializing")), nil), Display{"Init:1/2", 0, 1, 1}},
		{"init container in back-off", displayed(all(waiting("i0", "CrashLoopBackOff")), all(waiting("a", "PodInitializing")), nil), Display{"Init:CrashLoopBackOff", 0, 1, 0}},
		{"init container that failed", displayed(all(over("i0", "Error", 1, 0)), all(waiting("a", "PodInitializing")), nil), Display{"Init:Error", 0, 1, 1}},
		{"init containers that are done", displayed(all(over("i0", "Completed", 0, 0)), all(runs("a", true)), nil), Display{"Running", 1, 1, 0}},
		{"sidecar", displayed(all(runs("s0", true)), all(runs("a", true)), nil), Display{"Running", 2, 2, 0}},
		{"sidecar that has not started", displayed(all(runs("s0", false)), all(waiting("a", "PodInitializing")), nil), Display{"Init:0/1", 0, 2, 0}},
		{"sidecar that restarts in a pod that was initialized", displayed(all(waiting("s0", "CrashLoopBackOff")), all(runs("a", true)), condition(v1.PodInitialized)), Display{"Init:CrashLoopBackOff", 1, 2, 0}},
		{"scheduling gated", displayed(nil, nil, func(p *v1.Pod) {
			p.Status.Phase, p.Status.Conditions = v1.PodPending, []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonSchedulingGated}}
		}), Display{"SchedulingGated", 0, 0, 0}},
		{"one completed, one failed", displayed(nil, all(over("a", "Completed", 0, 0), over("b", "Error", 1, 0)), nil), Display{"Error", 0, 2, 2}},
		{"one failed, one completed", displayed(nil, all(over("a", "Error", 1, 0), over("b", "Completed", 0, 0)), nil), Display{"Error", 0, 2, 2}},
		{"the first one that failed", displayed(nil, all(over("a", "Completed", 0, 0), over("b", "OOMKilled", 137, 0), over("c", "Error", 1, 0)), nil), Display{"OOMKilled", 0, 3, 3}},
		{"one failed beside one that runs", displayed(nil, all(over("a", "Completed", 0, 0), over("b", "Error", 1, 0), runs("c", true)), nil), Display{"Error", 1, 3, 2}},
		{"of which the pod is ready, one failed", displayed(nil, all(over("a", "Completed", 0, 0), over("b", "Error", 1, 0), runs("c", true)), condition(v1.PodReady)), Display{"Running", 1, 3, 2}},
		{"an ended sidecar that failed", displayed(all(over("s0", "Error", 137, 0)), all(over("a", "Completed", 0, 0)), condition(v1.PodInitialized)), Display{"Completed", 0, 2, 2}},
		{"an init container that waits without a reason", displayed(all(waiting("i0", ""), over("i1", "Error", 1, 0)), nil, nil), Display{"Init:0/2", 0, 0, 0}},
		{"a sidecar after one that restarts", displayed(all(waiting("s0", "CrashLoopBackOff"), runs("s1", true)), all(runs("a", true)), condition(v1.PodInitialized)), Display{"Init:CrashLoopBackOff", 1, 3, 0}},
		{"init containers and a sidecar that were restarted", displayed(all(over("i0", "Completed", 0, 0), restarted(runs("s0", true), 3)), all(restarted(runs("a", true), 2)), nil), Display{"Running", 2, 2, 5}},
		{"terminating", displayed(nil, all(runs("a", true)), func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), Display{"Terminating", 1, 1, 0}},
		{"deleted after its end", displayed(nil, all(over("a", "Completed", 0, 0)), func(p *v1.Pod) { p.DeletionTimestamp, p.Status.Phase = &metav1.Time{}, v1.PodSucceeded }), Display{"Completed", 0, 1, 1}},
	} {
		if got := DisplayOf(c.pod); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestDisplayWithoutSpec(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	type container struct {
		name    string
		state   State
		created int
		ended   int
		code    int32
		reason  string
		attempt uint32
	}
	for _, c := range []struct {
		name       string
		sandbox    State
		containers []container // newest first
		want       Display
	}{
		{"sandbox alone", Running, nil, Display{"ContainerCreating", 0, 0, 0}},
		{"created", Running, []container{{name: "a", state: Created}}, Display{"ContainerCreating", 0, 1, 0}},
		{"running", Running, []container{{name: "a", state: Running}}, Display{"Running", 1, 1, 0}},
		{"its init container has completed", Running, []container{{name: "b", state: Running, created: 5}, {name: "a", state: Running, created: 4}, {name: "i", state: Exited, created: 1, ended: 3}}, Display{"Running", 2, 2, 0}},
		{"a container has failed before another one was created", Running, []container{{name: "b", state: Running, created: 5}, {name: "a", state: Exited, created: 1, ended: 3, code: 1}}, Display{"Error", 1, 2, 0}},
		{"a container has completed", Running, []container{{name: "b", state: Running, created: 2}, {name: "a", state: Exited, created: 1, ended: 9}}, Display{"NotReady", 1, 2, 0}},
		{"restarted", Running, []container{{name: "a", state: Running, attempt: 2}, {name: "a", state: Exited, attempt: 1, code: 1}}, Display{"Running", 1, 1, 2}},
		{"completed", Exited, []container{{name: "a", state: Exited}}, Display{"Completed", 0, 1, 0}},
		{"failed", Exited, []container{{name: "a", state: Exited, code: 1, reason: "Error"}}, Display{"Error", 0, 1, 0}},
		{"out of memory", Running, []container{{name: "a", state: Exited, code: 137, reason: "OOMKilled"}}, Display{"OOMKilled", 0, 1, 0}},
		{"lost", Running, []container{{name: "a", state: Unknown}}, Display{"ContainerStatusUnknown", 0, 1, 0}},
		{"created, and the sandbox was stopped", Exited, []container{{name: "a", state: Created}}, Display{"ContainerCreating", 0, 1, 0}},
		{"terminating", Exited, []container{{name: "a", state: Running}, {name: "b", state: Exited, code: 1}}, Display{"Terminating", 1, 2, 0}},
		{"sandbox that was stopped before a container", Exited, nil, Display{"Completed", 0, 0, 0}},
	} {
		p := &Pod{Sandboxes: []*Sandbox{{ID: "s", State: c.sandbox}}}
		status := &Status{}
		for i, ct := range c.containers {
			id := string(rune('0' + i))
			p.Containers = append(p.Containers, &Container{ID: id, SandboxID: "s", Name: ct.name, State: ct.state, CreatedAt: at(ct.created), Attempt: ct.attempt})
			status.Containers = append(status.Containers, &ContainerStatus{ID: id, Name: ct.name, State: ct.state, FinishedAt: at(ct.ended), ExitCode: ct.code, Reason: ct.reason})
		}
		if got := DisplayOfRuntime(p, status); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The runtime does not always answer how a container ended.
func TestExitThatWasNotReadIsUnknown(t *testing.T) {
	p := &Pod{Sandboxes: []*Sandbox{{ID: "s", State: Running}}, Containers: []*Container{
		{ID: "b", SandboxID: "s", Name: "b", State: Running, CreatedAt: time.Unix(2, 0)},
		{ID: "a", SandboxID: "s", Name: "a", State: Exited, CreatedAt: time.Unix(1, 0)},
	}}
	for _, status := range []*Status{nil, {}} {
		if got := DisplayOfRuntime(p, status); got != (Display{"ExitCode:unknown", 1, 2, 0}) {
			t.Errorf("%+v: %+v", status, got)
		}
	}
}
