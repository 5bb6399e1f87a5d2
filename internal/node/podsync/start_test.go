package podsync_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

func TestFailedSandboxEventAndError(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.fail = func(string, string) error { return errors.New("no network") }
		_, err := b.sync(podOf(v1.RestartPolicyAlways, container("c")))
		if err == nil || !strings.Contains(err.Error(), "no network") {
			t.Errorf("error %v; want the runtime's", err)
		}
		if got := b.events.reasons(); !slices.Equal(got, []string{"FailedCreatePodSandBox"}) {
			t.Errorf("events %q", got)
		}
	})
}

// A runtime with another cgroup driver refuses every sandbox: the flag is in the event.
func TestRefusedCgroupDriverNamesFlag(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.fail = func(string, string) error {
			return errors.New(`runc create failed: expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/x" instead`)
		}
		_, err := b.sync(podOf(v1.RestartPolicyAlways, container("c")))
		if err == nil || !strings.Contains(err.Error(), "--cgroup-driver systemd") || !strings.Contains(err.Error(), "slice:prefix:name") {
			t.Errorf("error %v; want the flag, and the runtime's words", err)
		}
	})
}

func TestSandboxIsPublishedBeforePull(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		var seen []v1.PodStatus
		b.hooks.published = func(_ *v1.Pod, s v1.PodStatus) { seen = append(seen, s) }
		b.rt.fail = func(method, _ string) error {
			if method != "PullImage" {
				return nil
			}
			last := seen[len(seen)-1]
			if last.PodIP != "10.88.0.7" || last.Conditions[0].Type != v1.PodReadyToStartContainers || last.Conditions[0].Status != v1.ConditionTrue {
				t.Errorf("while an image is pulled the pod's address is %q, its conditions %v", last.PodIP, last.Conditions)
			}
			return nil
		}
		b.mustSync(imagePod("example.com/a:1", v1.PullAlways))
		wantCalls(t, b, "RunPodSandbox", "PullImage example.com/a:1", "CreateContainer c#0", "StartContainer c")
	})
}

func TestCreateFailureReasonAndRetry(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"), container("d"))
		b.rt.fail = func(method, name string) error {
			if method == "CreateContainer" && name == "c" {
				return errors.New("no such profile")
			}
			return nil
		}
		res, err := b.sync(p)
		if err == nil {
			t.Fatal("no error")
		}
		if at := retryAt(t, err); !at.IsZero() {
			t.Errorf("retry at %v; want it left to the worker", at)
		}
		wantWaiting(t, res.Status, "CreateContainerError", "no such profile")
		// The other container starts all the same.
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "CreateContainer d#0", "StartContainer d")
		b.rt.fail = nil
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{lifetime: time.Second, code: 3} }
		b.mustSync(p)
		if s := b.rt.snapshot().Container("c"); s.State != pod.Running {
			t.Errorf("container is %v after the retry", s.State)
		}
		// Its reason is history then.
		time.Sleep(2 * time.Second)
		res = b.mustSync(p)
		if end := res.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 3 {
			t.Errorf("after its end the container is %+v; want it exited 3", res.Status.ContainerStatuses[0].State)
		}
	})
}

func TestContainerConfigErrorReason(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		yes := true
		p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{RunAsNonRoot: &yes}
		res, err := b.sync(p)
		if err == nil {
			t.Fatal("no error")
		}
		wantWaiting(t, res.Status, "CreateContainerConfigError", "image will run as root")
		wantCalls(t, b, "RunPodSandbox")
	})
}

func TestStartFailureReason(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{noStart: "exec: not found"} }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		if _, err := b.sync(p); err == nil {
			t.Fatal("no error")
		}
		status, _ := b.syncer.Status(p.UID)
		wantWaiting(t, status, "RunContainerError", "exec: not found")
	})
}

func TestFailedInitContainerStartEndsSync(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.fail = func(method, _ string) error {
			if method == "CreateContainer" {
				return errors.New("no")
			}
			return nil
		}
		p := initPod(v1.RestartPolicyAlways, sidecar("s"), container("i"))
		_, _ = b.sync(p)
		// The sidecar failed; had it started, i would come next: nothing does.
		wantCalls(t, b, "RunPodSandbox", "CreateContainer s#0")
	})
}

func TestFailingSidecarDoesNotBlockOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := initPod(v1.RestartPolicyAlways, sidecar("s1"), sidecar("s2"))
		started(t, b, p)
		for _, cs := range b.rt.status.Containers {
			if cs.Name != "c" {
				b.rt.exit(cs, 1, "")
			}
		}
		b.rt.fail = func(method, name string) error {
			if method == "CreateContainer" && name == "s1" {
				return errors.New("no")
			}
			return nil
		}
		if _, err := b.sync(p); err == nil {
			t.Error("the failure is not told")
		}
		wantCalls(t, b, "CreateContainer s1#1", "CreateContainer s2#1", "StartContainer s2")
	})
}

func TestRetryAtEarliestBackOff(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			return program{lifetime: map[string]time.Duration{"a": 3 * time.Second, "b": time.Second}[cfg.Metadata.Name], code: 1}
		}
		p := podOf(v1.RestartPolicyAlways, container("a"), container("b"))
		b.mustSync(p)
		time.Sleep(4 * time.Second)
		b.mustSync(p)
		time.Sleep(4 * time.Second)
		_, err := b.sync(p)
		if at, want := retryAt(t, err), b.rt.snapshot().Container("b").FinishedAt.Add(10*time.Second); !at.Equal(want) {
			t.Errorf("retry at %v; want %v, when b may", at, want)
		}
	})
}

func TestCrashBackoffErrorHasRetryTime(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{lifetime: time.Second, code: 1} }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		b.mustSync(p)
		time.Sleep(2 * time.Second)
		b.mustSync(p) // the first restart is at once
		for _, delay := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			time.Sleep(2 * time.Second)
			finished := b.rt.snapshot().Container("c").FinishedAt
			res, err := b.sync(p)
			if err == nil {
				t.Fatalf("restarts within its back-off of %v", delay)
			}
			wantWaiting(t, res.Status, "CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=c pod=p_default(%s)", delay, testUID))
			last := b.events.list[len(b.events.list)-1]
			if last.Waiting == nil || last.Waiting.Crash == nil || *last.Waiting.Crash != (event.Crash{BackOffSeconds: delay.Seconds(), ExitCode: 1}) {
				t.Errorf("event %+v; want a back-off of %v after exit 1", last.Waiting, delay)
			}
			at := retryAt(t, err)
			if !at.Equal(finished.Add(delay)) {
				t.Errorf("retry %v after its end; want %v", at.Sub(finished), delay)
			}
			if got := b.syncer.BackOffs(p.UID); len(got) != 1 || got["c"] != (podsync.BackOff{RetryAt: at, Delay: delay}) {
				t.Errorf("back-offs %+v; want one of %v until %v", got, delay, at)
			}
			time.Sleep(time.Until(at))
			b.mustSync(p)
			if got := b.syncer.BackOffs(p.UID); got != nil {
				t.Errorf("back-offs of a container that was started: %+v", got)
			}
		}
		if got := b.rt.snapshot().Container("c").RestartCount; got != 4 {
			t.Errorf("restart count %d; want 4", got)
		}
	})
}

func TestUntimedErrorDoesNotWaitForBackOff(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{lifetime: time.Second, code: 1} }
		p := podOf(v1.RestartPolicyAlways, container("c"), container("d"))
		p.Spec.Containers[1].Image, p.Spec.Containers[1].ImagePullPolicy = "missing", v1.PullNever
		_, _ = b.sync(p)
		for _, pause := range []time.Duration{2 * time.Second, 12 * time.Second} { // two restarts
			time.Sleep(pause)
			_, _ = b.sync(p)
		}
		time.Sleep(2 * time.Second)
		_, err := b.sync(p)
		if at := retryAt(t, err); !at.Equal(time.Now().Add(10 * time.Second)) {
			t.Errorf("retry in %v; want 10s, before the back-off of 20s is over", time.Until(at))
		}
	})
}

func TestPostStartHookFailureKillsContainer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.execs = func([]string) (time.Duration, int32) { return time.Second, 1 }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"up"}}}}
		if _, err := b.sync(p); err == nil {
			t.Fatal("no error")
		}
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c", "ExecSync c up", "StopContainer c 30s")
		if got := b.events.reasons(); !slices.Equal(got[4:], []string{"FailedPostStartHook", "Killing"}) {
			t.Errorf("events %q", got)
		}
		status, _ := b.syncer.Status(p.UID)
		wantWaiting(t, status, "PostStartHookError", "command exited with 1")
		res, _ := b.sync(p)
		if res.Status.Phase != v1.PodRunning {
			t.Errorf("phase %s after the kill; want Running", res.Status.Phase)
		}
		for _, e := range b.events.list {
			if strings.Contains(e.Message, "secret output") {
				t.Errorf("event %s tells the hook's output", e.Reason)
			}
		}
	})
}
