package runview

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// noon is when everything in these tests happens.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// web is a pod of two containers, web and cache, that began 41 s before noon.
// change makes of it what a test is about.
func web(change func(*node.Info)) node.Info {
	always := v1.ContainerRestartPolicyAlways
	i := node.Info{
		Pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
			Spec: v1.PodSpec{
				InitContainers: []v1.Container{{Name: "first"}, {Name: "side", RestartPolicy: &always}},
				Containers:     []v1.Container{{Name: "web"}, {Name: "cache"}},
			},
		},
		Status: v1.PodStatus{
			Phase: v1.PodRunning, StartTime: &metav1.Time{Time: noon.Add(-41 * time.Second)},
			ContainerStatuses: []v1.ContainerStatus{runs("web"), runs("cache")},
		},
		WorkerPhase: worker.Syncing,
	}
	if change != nil {
		change(&i)
	}
	return i
}

func runs(name string) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, Ready: true, Started: new(true), State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
}

func waits(name, reason, message string) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ended(name string, code int32, reason, message string) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, StartedAt: metav1.Time{Time: noon},
	}}}
}

func setContainers(i *node.Info, containers ...v1.ContainerStatus) {
	i.Status.ContainerStatuses = containers
}

func TestNowText(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*node.Info)
		activity string
		want     string
	}{
		{"all is well", nil, "", ""},
		{"rejected", func(i *node.Info) { i.Rejected = errors.New("name is taken") }, "", "name is taken"},
		{"creating is no reason", func(i *node.Info) { setContainers(i, waits("web", "ContainerCreating", "")) }, "", ""},
		{"an event says more than creating", func(i *node.Info) { setContainers(i, waits("web", "ContainerCreating", "")) }, "pulling image busybox", "pulling image busybox"},
		{"pull", func(i *node.Info) {
			setContainers(i, runs("web"), waits("cache", "ErrImagePull", "not found"))
			i.NextWake = noon.Add(9600 * time.Millisecond)
		}, "", "cache: ErrImagePull: not found, again in 10s"},
		{"the first one that waits", func(i *node.Info) {
			setContainers(i, waits("web", "CreateContainerConfigError", "no such user"), waits("cache", "ErrImagePull", "x"))
		}, "", "web: CreateContainerConfigError: no such user"},
		{"back-off tells the last exit", func(i *node.Info) {
			c := waits("cache", "CrashLoopBackOff", "back-off 20s restarting failed container=cache")
			c.LastTerminationState = ended("", 1, "Error", "no config").State
			setContainers(i, runs("web"), c)
			i.NextWake = noon.Add(90 * time.Second)
		}, "", `cache: CrashLoopBackOff, again in 90s · last exit 1 "no config"`},
		{"a retry that is due is not counted", func(i *node.Info) {
			setContainers(i, waits("web", "ErrImagePull", "x"))
			i.NextWake = noon.Add(-time.Second)
		}, "", "web: ErrImagePull: x"},
		{"an error of the pod", func(i *node.Info) {
			i.LastError.Text, i.NextWake = "network is not ready", noon.Add(5*time.Second)
		}, "", "network is not ready, again in 5s"},
		{"init", func(i *node.Info) {
			i.Status.Phase = v1.PodPending
			i.Status.InitContainerStatuses = []v1.ContainerStatus{runs("first")}
			setContainers(i, waits("web", "PodInitializing", ""))
		}, "", "init container first runs"},
		{"a sidecar is nothing to wait for", func(i *node.Info) {
			i.Status.Phase = v1.PodPending
			i.Status.InitContainerStatuses = []v1.ContainerStatus{ended("first", 0, "Completed", ""), runs("side")}
		}, "", ""},
		{"not ready, by its probes", func(i *node.Info) {
			i.Unready = []event.Unready{
				{Container: "web", Probe: event.Probe{Type: "Readiness", Result: event.ProbeFailed, Output: "connection refused\n", Failures: 3}},
				{Container: "cache", Probe: event.Probe{Type: "Startup", Result: event.ProbeErrored, Failures: 1}},
			}
		}, "", "web: readiness failed 3 times: connection refused · cache: startup failed"},
		{"not ready, by a readiness gate", func(i *node.Info) {
			i.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: pod.ReadinessGatesNotReady, Message: "gate lb is False"}}
		}, "", "gate lb is False"},
		{"stopping", func(i *node.Info) { i.WorkerPhase = worker.Terminating }, "", "stopping"},
		{"stopping with grace", func(i *node.Info) {
			i.WorkerPhase, i.Grace, i.StopRequested = worker.Terminating, 30, noon.Add(-4*time.Second)
		}, "", "stopping, 26s of 30s grace left"},
		{"stopping past its grace", func(i *node.Info) {
			i.WorkerPhase, i.Grace, i.StopRequested = worker.Terminating, 30, noon.Add(-72*time.Second)
		}, "", "stopping, 42s past its grace of 30s"},
		{"stopping fails", func(i *node.Info) {
			i.WorkerPhase, i.LastError.Text, i.NextWake = worker.Terminating, "stop container: deadline exceeded", noon.Add(2*time.Second)
		}, "", "stopping · stop container: deadline exceeded, again in 2s"},
		{"stopping is tried again", func(i *node.Info) {
			i.WorkerPhase, i.LastError.Text, i.Op = worker.Terminating, "stop container: deadline exceeded", worker.OpTerminate
		}, "", "stopping"},
		{"ended well", func(i *node.Info) {
			i.Status.Phase = v1.PodSucceeded
			setContainers(i, ended("web", 0, "Completed", ""), ended("cache", 0, "Completed", ""))
		}, "", "cache exited 0"},
		{"ended badly: the first that failed", func(i *node.Info) {
			i.Status.Phase = v1.PodFailed
			setContainers(i, ended("web", 137, "OOMKilled", ""), ended("cache", 1, "Error", ""))
		}, "", "web exited 137, OOMKilled"},
		{"ended for a reason of its own", func(i *node.Info) {
			i.Status.Phase, i.Status.Reason, i.Status.Message = v1.PodFailed, "DeadlineExceeded", "was active too long"
		}, "", "DeadlineExceeded: was active too long"},
		{"a final phase wins over stopping", func(i *node.Info) {
			i.WorkerPhase, i.Status.Phase = worker.Terminating, v1.PodSucceeded
			setContainers(i, ended("web", 0, "Completed", ""))
		}, "", "web exited 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := nowText(web(c.change), c.activity, noon); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestPodRow(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*node.Info)
		want   string
	}{
		{"running", func(i *node.Info) {
			side := runs("side")
			side.RestartCount = 2
			i.Status.InitContainerStatuses = []v1.ContainerStatus{ended("first", 0, "Completed", ""), side}
			i.Status.ContainerStatuses[1].Ready = false
		}, "default/web|Running|2/3|2|41s|"},
		{"nothing was done yet", func(i *node.Info) { i.Status = v1.PodStatus{} }, "default/web|Pending|0/3|0|-|"},
		{"rejected", func(i *node.Info) {
			i.Status, i.Rejected = v1.PodStatus{}, errors.New("taken")
		}, "default/web|Rejected|0/3|0|-|taken"},
		{"its name is in use", func(i *node.Info) {
			i.Status, i.Rejected, i.Wait = v1.PodStatus{}, errors.New("taken"), lifecycle.Wait{Reason: lifecycle.NameHeld, Tries: 1}
		}, "default/web|NameHeld|0/3|0|-|taken"},
		{"a crash loop", func(i *node.Info) { setContainers(i, runs("web"), waits("cache", "CrashLoopBackOff", "")) }, "default/web|CrashLoopBackOff|1/3|0|41s|cache: CrashLoopBackOff"},
		{"completed", func(i *node.Info) {
			i.Status.Phase = v1.PodSucceeded
			setContainers(i, ended("web", 0, "Completed", ""), ended("cache", 0, "Completed", ""))
		}, "default/web|Completed|0/3|0|41s|cache exited 0"},
		{"stopped", func(i *node.Info) {
			i.WorkerPhase, i.Stopped, i.Status.Phase = worker.Finished, true, v1.PodSucceeded
			setContainers(i, ended("web", 0, "Completed", ""))
		}, "default/web|Stopped|0/3|0|41s|web exited 0"},
		{"terminating", func(i *node.Info) { i.WorkerPhase = worker.Terminating }, "default/web|Terminating|2/3|0|41s|stopping"},
		{"words of a runtime stay in their line", func(i *node.Info) {
			i.LastError.Text = "one\ntwo\t\x1b[2J"
		}, "default/web|Running|2/3|0|41s|one; two �[2J"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(podRow(web(c.change), "", noon), "|"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestAgeMatchesKubectl(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 999 * time.Millisecond: "0s", 59 * time.Second: "59s",
		time.Minute: "60s", 119 * time.Second: "119s", 150 * time.Second: "2m30s", 51*time.Minute + 31*time.Second: "51m",
		61 * time.Minute: "61m", 4*time.Hour + 10*time.Minute: "4h10m", 47 * time.Hour: "47h", 100 * 24 * time.Hour: "100d",
	} {
		if got := output.Age(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// Restarts of init containers that are done do not count, as in kubectl.
func TestInitContainerRestartsCountUntilInitialized(t *testing.T) {
	done := ended("first", 0, "Completed", "")
	done.RestartCount = 5
	i := node.Info{Pod: &v1.Pod{}}
	i.Pod.Spec.InitContainers = []v1.Container{{Name: "first"}, {Name: "second"}}
	i.Status.InitContainerStatuses = []v1.ContainerStatus{done, runs("second")}
	for want, second := range map[int32]v1.ContainerStatus{5: runs("second"), 0: ended("second", 0, "Completed", "")} {
		i.Status.InitContainerStatuses[1] = second
		if row, line := podRow(i, "", noon), podLine(i); row[3] != fmt.Sprint(want) || *line.Restarts != want {
			t.Errorf("%s restarts in the table, %d in JSON, want %d", row[3], *line.Restarts, want)
		}
	}
}
