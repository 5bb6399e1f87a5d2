package podsync_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podsync"
)

func int64p(v int64) *int64 { return &v }

// started is a bench whose pod's containers all run, with nothing recorded.
func started(t *testing.T, b *bench, p *v1.Pod) {
	t.Helper()
	for range 5 {
		b.mustSync(p)
		time.Sleep(2 * time.Second)
	}
	b.rt.mu.Lock()
	b.rt.calls = nil
	b.rt.mu.Unlock()
	b.events.list = nil
}

func preStopPod(grace int64, h v1.LifecycleHandler) *v1.Pod {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &h}
	return p
}

func execHook(command ...string) v1.LifecycleHandler {
	return v1.LifecycleHandler{Exec: &v1.ExecAction{Command: command}}
}

func sleepHook(seconds int64) v1.LifecycleHandler {
	return v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: seconds}}
}

func TestGraceIsTheGivenOneElseTheDeletionsElseThePodsAndAtLeastTwoSeconds(t *testing.T) {
	for name, c := range map[string]struct {
		pod, deletion, given *int64
		want                 string
	}{
		"the pod's":         {int64p(30), nil, nil, "StopContainer c 30s"},
		"the deletion's":    {int64p(30), int64p(7), nil, "StopContainer c 7s"},
		"the given one":     {int64p(30), int64p(7), int64p(5), "StopContainer c 5s"},
		"given, but short":  {int64p(30), nil, int64p(1), "StopContainer c 2s"},
		"given, but none":   {int64p(30), nil, int64p(0), "StopContainer c 2s"},
		"the pod has none":  {int64p(0), nil, nil, "StopContainer c 2s"},
		"the pod says none": {nil, nil, nil, "StopContainer c 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				p := podOf(v1.RestartPolicyAlways, container("c"))
				started(t, b, p)
				p.Spec.TerminationGracePeriodSeconds, p.DeletionGracePeriodSeconds = c.pod, c.deletion
				if _, err := b.terminate(t.Context(), p, c.given); err != nil {
					t.Fatal(err)
				}
				wantCalls(t, b, c.want, "StopPodSandbox")
			})
		})
	}
}

func TestTerminateKeepsTheFinalExitCodes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{termCode: 7, onTerm: time.Second} }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		res, err := b.terminate(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if end := res.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 7 {
			t.Errorf("state %+v; want exit code 7", res.Status.ContainerStatuses[0].State)
		}
		if res.Status.Phase != v1.PodFailed || res.Status.PodIP != "10.88.0.7" {
			t.Errorf("phase %s with address %q; want Failed and the last address", res.Status.Phase, res.Status.PodIP)
		}
		if got := b.events.reasons(); !slices.Equal(got, []string{"Killing"}) {
			t.Errorf("events %q; want Killing", got)
		}
	})
}

func TestOverrideSaysWhyThePodWasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		_, err := b.syncer.Terminate(t.Context(), podsync.TerminateInput{
			Pod: p, Status: b.rt.snapshot(),
			Override: func(s *v1.PodStatus) { s.Phase, s.Reason = v1.PodFailed, "Preempting" },
			Fresh:    func(context.Context) (*pod.Status, error) { return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := b.syncer.Cleanup(t.Context(), p, nil)
		if err != nil || res.Status.Phase != v1.PodFailed || res.Status.Reason != "Preempting" {
			t.Errorf("%s %s, %v; want Failed, Preempting", res.Status.Phase, res.Status.Reason, err)
		}
	})
}

func TestPreStopEatsWholeSecondsOfTheGrace(t *testing.T) {
	for name, c := range map[string]struct {
		took time.Duration
		want string
		end  time.Duration
	}{
		"a bit more than a second":      {1030 * time.Millisecond, "StopContainer c 5s", 1030 * time.Millisecond},
		"a bit less than two seconds":   {1990 * time.Millisecond, "StopContainer c 5s", 1990 * time.Millisecond},
		"nearly all of it":              {5 * time.Second, "StopContainer c 2s", 5 * time.Second},
		"more than there is is cut off": {time.Hour, "StopContainer c 2s", 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				b.rt.latency = 0
				b.rt.execs = func([]string) (time.Duration, int32) { return c.took, 0 }
				p := preStopPod(6, execHook("bye"))
				started(t, b, p)
				start := time.Now()
				if _, err := b.terminate(t.Context(), p, nil); err != nil {
					t.Fatal(err)
				}
				wantCalls(t, b, "ExecSync c bye", c.want, "StopPodSandbox")
				if got := time.Since(start); got != c.end {
					t.Errorf("took %v; want %v", got, c.end)
				}
			})
		})
	}
}

func TestAHookThatOutlivesTheGraceLastsUntilItsContainerIsStopped(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{onTerm: -1} }
		p := preStopPod(3, sleepHook(3600))
		started(t, b, p)
		start := time.Now()
		if _, err := b.terminate(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start).Truncate(time.Second); took != 5*time.Second {
			t.Errorf("took %v; want 3s of hook and 2s of stop", took)
		}
		if slices.Contains(b.events.reasons(), "FailedPreStopHook") {
			t.Error("the cut hook is told as failed")
		}
	})
}

func TestAFailedPreStopHookIsAnEventWithoutItsOutput(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.execs = func([]string) (time.Duration, int32) { return 0, 1 }
		p := preStopPod(6, execHook("bye"))
		started(t, b, p)
		if _, err := b.terminate(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, b, "ExecSync c bye", "StopContainer c 6s", "StopPodSandbox")
		if got := b.events.reasons(); !slices.Equal(got, []string{"Killing", "FailedPreStopHook"}) {
			t.Errorf("events %q", got)
		}
	})
}

// TestAShorterGraceCutsATerminationShort: the first is cancelled in its hook,
// the second gives the container what is left, without the hook again.
func TestAShorterGraceCutsATerminationShort(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{onTerm: -1} }
		p := preStopPod(600, sleepHook(300))
		started(t, b, p)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		start := time.Now()
		if _, err := b.terminate(ctx, p, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v; want that it was cancelled", err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("was cancelled after %v; want 5s", took)
		}
		wantCalls(t, b)
		if _, err := b.terminate(t.Context(), p, int64p(3)); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, b, "StopContainer c 3s", "StopPodSandbox")
	})
}

func TestACancelledStopLeavesTheSandbox(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{onTerm: -1} }
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := b.terminate(ctx, p, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v; want that it was cancelled", err)
		}
		wantCalls(t, b, "StopContainer c 30s")
		if len(b.events.reasons()) != 1 {
			t.Errorf("events %q; a cancel is no failure", b.events.reasons())
		}
	})
}

func TestSidecarsEndLastInReverseWithWhatIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			return map[string]program{"c": {onTerm: 2 * time.Second}, "s2": {onTerm: 3 * time.Second}, "s1": {onTerm: time.Second}}[cfg.Metadata.Name]
		}
		p := initPod(v1.RestartPolicyAlways, sidecar("s1"), sidecar("s2"))
		p.Spec.TerminationGracePeriodSeconds = int64p(20)
		started(t, b, p)
		start := time.Now()
		if _, err := b.terminate(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, b, "StopContainer c 20s", "StopContainer s2 18s", "StopContainer s1 15s", "StopPodSandbox")
		if took := time.Since(start); took != 6*time.Second {
			t.Errorf("took %v; want 6s", took)
		}
	})
}

func TestSidecarsDoNotWaitBeyondTheGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{onTerm: -1} }
		p := initPod(v1.RestartPolicyAlways, sidecar("s1"))
		p.Spec.TerminationGracePeriodSeconds = int64p(4)
		started(t, b, p)
		start := time.Now()
		if _, err := b.terminate(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, b, "StopContainer c 4s", "StopContainer s1 2s", "StopPodSandbox")
		if took := time.Since(start); took != 6*time.Second {
			t.Errorf("took %v; want 6s", took)
		}
	})
}

func TestAStopThatTimesOutIsRepeatedWithForceAndThenTheSandboxStopped(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		hangs := 2
		b.rt.fail = func(method, _ string) error {
			if method == "StopContainer" && hangs > 0 {
				hangs--
				return context.DeadlineExceeded
			}
			return nil
		}
		_, err := b.terminate(t.Context(), p, nil)
		var stuck *podsync.StuckError
		if !errors.As(err, &stuck) || stuck.Layer != podsync.LayerContainer || stuck.Name != "c" {
			t.Errorf("error %v; want that container c is stuck", err)
		}
		wantCalls(t, b, "StopContainer c 30s", "StopContainer c 0s", "StopPodSandbox")
		// The sandbox's end took the container with it; the next try sees so.
		if _, err := b.terminate(t.Context(), p, nil); err != nil {
			t.Errorf("second try: %v", err)
		}
		if got := b.events.reasons(); !slices.Contains(got, "FailedKillPod") {
			t.Errorf("events %q; want FailedKillPod", got)
		}
	})
}

func TestAStuckSandboxIsNamed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		b.rt.fail = func(method, _ string) error {
			if method == "StopPodSandbox" {
				return context.DeadlineExceeded
			}
			return nil
		}
		_, err := b.terminate(t.Context(), p, nil)
		var stuck *podsync.StuckError
		if !errors.As(err, &stuck) || stuck.Layer != podsync.LayerSandbox {
			t.Errorf("error %v; want that the sandbox is stuck", err)
		}
	})
}

func TestTerminateBelievesOnlyAFreshStatus(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		before := b.rt.snapshot()
		_, err := b.syncer.Terminate(t.Context(), podsync.TerminateInput{
			Pod: p, Status: before, Fresh: func(context.Context) (*pod.Status, error) { return before, nil },
		})
		var still *podsync.RunningError
		if !errors.As(err, &still) || !slices.Equal(still.Containers, []string{"c"}) {
			t.Errorf("error %v; want that c runs", err)
		}
		gone := errors.New("runtime unavailable")
		_, err = b.syncer.Terminate(t.Context(), podsync.TerminateInput{
			Pod: p, Status: before, Fresh: func(context.Context) (*pod.Status, error) { return nil, gone },
		})
		if !errors.Is(err, gone) {
			t.Errorf("error %v; want that the status could not be read", err)
		}
	})
}

func TestAContainerThatIsGoneCountsAsStopped(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		st := b.rt.snapshot()
		b.rt.RemoveContainer(t.Context(), st.Containers[0].ID)
		res, err := b.syncer.Terminate(t.Context(), podsync.TerminateInput{
			Pod: p, Status: st, Fresh: func(context.Context) (*pod.Status, error) { return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if last := res.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.Reason != "ContainerStatusUnknown" {
			t.Errorf("last state %+v; want ContainerStatusUnknown", last)
		}
	})
}

func TestAContainerThatThePodDoesNotNameIsStoppedToo(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		p.Spec.Containers[0].Name = "renamed"
		if _, err := b.terminate(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, b, "StopContainer c 30s", "StopPodSandbox")
	})
}

func TestRuntimePodEndsWithoutHooks(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := preStopPod(30, execHook("bye"))
		started(t, b, p)
		st := b.rt.snapshot()
		listed := &pod.Pod{UID: p.UID, Name: p.Name, Namespace: p.Namespace}
		listed.Containers = []*pod.Container{
			{ID: st.Containers[0].ID, Name: "c", State: pod.Running}, {ID: "old", Name: "c", State: pod.Exited},
		}
		listed.Sandboxes = []*pod.Sandbox{{ID: st.Sandboxes[0].ID, State: pod.Running}}
		if err := b.syncer.TerminateRuntime(t.Context(), listed, 1); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, b, "StopContainer c 2s", "StopPodSandbox")
		b.rt.fail = func(string, string) error { return errors.New("no") }
		if err := b.syncer.TerminateRuntime(t.Context(), listed, 1); err == nil || !strings.Contains(err.Error(), "terminate runtime pod") {
			t.Errorf("error %v", err)
		}
	})
}

func TestCleanupUnmountsThenRemovesTheCgroup(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		busy := errors.New("device or resource busy")
		b.host.err["unmount"] = busy
		if _, err := b.syncer.Cleanup(t.Context(), p, nil); !errors.Is(err, busy) {
			t.Errorf("error %v; want %v", err, busy)
		}
		delete(b.host.err, "unmount")
		res, err := b.syncer.Cleanup(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"unmount", "unmount", "remove cgroup"}; !slices.Equal(b.host.steps, want) {
			t.Errorf("steps %q; want %q", b.host.steps, want)
		}
		// It never ran, and it is over: that is a failure.
		if end := res.Status.ContainerStatuses[0].State.Terminated; res.Status.Phase != v1.PodFailed || end == nil || end.ExitCode != 137 {
			t.Errorf("%s, %+v; want Failed with a lost container", res.Status.Phase, res.Status.ContainerStatuses[0].State)
		}
	})
}

func TestTheFirstInitContainerOfAPodThatNeverRanIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := initPod(v1.RestartPolicyNever, container("i"), container("j"))
		res, err := b.syncer.Cleanup(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s := res.Status.InitContainerStatuses; s[0].State.Terminated == nil || s[1].State.Waiting == nil {
			t.Errorf("init containers %+v, %+v; want the first lost, the second waiting", s[0].State, s[1].State)
		}
	})
}

func TestContainersThatNeverWereToStartAreNotCalledFailed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{lifetime: time.Second, code: 3} }
		p := initPod(v1.RestartPolicyNever, container("i"), container("j"))
		res := b.drive(p, time.Hour)
		if res.Status.Phase != v1.PodFailed {
			t.Errorf("phase %s; want Failed", res.Status.Phase)
		}
		if s := res.Status.InitContainerStatuses; s[0].State.Terminated == nil || s[0].State.Terminated.ExitCode != 3 || s[1].State.Waiting == nil {
			t.Errorf("init containers %+v, %+v; want the first exited 3, the second waiting", s[0].State, s[1].State)
		}
		if s := res.Status.ContainerStatuses[0]; s.State.Waiting == nil {
			t.Errorf("container %+v; want it waiting", s.State)
		}
	})
}

func TestRemoveLeavesNothingInTheRuntime(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyNever, container("c"))
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{lifetime: time.Second} }
		b.drive(p, time.Hour)
		b.rt.reads = nil
		if err := b.syncer.Remove(t.Context(), b.rt.snapshot()); err != nil {
			t.Fatal(err)
		}
		if st := b.rt.snapshot(); len(st.Containers)+len(st.Sandboxes) > 0 {
			t.Errorf("%d containers and %d sandboxes are left", len(st.Containers), len(st.Sandboxes))
		}
		if want := []string{"RemoveContainer", "RemovePodSandbox"}; !slices.Equal(b.rt.reads, want) {
			t.Errorf("calls %q; want %q", b.rt.reads, want)
		}
	})
}

func TestForgetBeginsAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyNever, container("c"))
		b.mustSync(p)
		if _, ok := b.syncer.Status(p.UID); !ok {
			t.Error("no status after a sync")
		}
		b.syncer.Forget(p.UID)
		if _, ok := b.syncer.Status(p.UID); ok {
			t.Error("a status after Forget")
		}
	})
}
