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

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

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

func TestGracePeriodPrecedenceAndMinimum(t *testing.T) {
	for name, c := range map[string]struct {
		pod, deletion, given *int64
		want                 string
	}{
		"the pod's":         {new(int64(30)), nil, nil, "StopContainer c 30s"},
		"the deletion's":    {new(int64(30)), new(int64(7)), nil, "StopContainer c 7s"},
		"the given one":     {new(int64(30)), new(int64(7)), new(int64(5)), "StopContainer c 5s"},
		"given, but short":  {new(int64(30)), nil, new(int64(1)), "StopContainer c 2s"},
		"given, but none":   {new(int64(30)), nil, new(int64(0)), "StopContainer c 2s"},
		"the pod has none":  {new(int64(0)), nil, nil, "StopContainer c 2s"},
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

func TestTerminateKeepsFinalExitCodes(t *testing.T) {
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

func TestStatusOverrideHasReason(t *testing.T) {
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

// The containers of a victim may all exit with 0, which alone would be Succeeded.
func TestFailureReasonSurvivesCleanExits(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		_, err := b.syncer.Terminate(t.Context(), podsync.TerminateInput{
			Pod: p, Status: b.rt.snapshot(),
			Override: func(s *v1.PodStatus) { s.Phase, s.Reason = v1.PodFailed, "Preempting" },
			Fresh:    func(context.Context) (*pod.Status, error) { return b.rt.snapshot(), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		exited := b.rt.snapshot()
		if len(exited.Containers) != 1 || exited.Containers[0].ExitCode != 0 {
			t.Fatalf("containers %+v, want one that exited with 0", exited.Containers)
		}
		res, err := b.syncer.Cleanup(t.Context(), p, exited)
		if err != nil || res.Status.Phase != v1.PodFailed || res.Status.Reason != "Preempting" {
			t.Errorf("%s %s, %v; want Failed, Preempting", res.Status.Phase, res.Status.Reason, err)
		}
	})
}

func TestCanceledStopLeavesSandbox(t *testing.T) {
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

func TestStopTimeoutForcesThenStopsSandbox(t *testing.T) {
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
		if event.LayerOf(err) != event.LayerContainer || !strings.Contains(err.Error(), `container "c": the runtime does not complete it`) {
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

func TestStuckSandboxError(t *testing.T) {
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
		if event.LayerOf(err) != event.LayerSandbox || !strings.Contains(err.Error(), "the runtime does not complete it") {
			t.Errorf("error %v; want that the sandbox is stuck", err)
		}
	})
}

func TestTerminateChecksFreshStatus(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		before := b.rt.snapshot()
		_, err := b.syncer.Terminate(t.Context(), podsync.TerminateInput{
			Pod: p, Status: before, Fresh: func(context.Context) (*pod.Status, error) { return before, nil },
		})
		if event.LayerOf(err) != event.LayerContainer || !strings.HasSuffix(err.Error(), "containers run after the runtime stopped them: c") {
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

func TestStopOfMissingContainerSucceeds(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"))
		started(t, b, p)
		st := b.rt.snapshot()
		if err := b.rt.RemoveContainer(t.Context(), st.Containers[0].ID); err != nil {
			t.Fatal(err)
		}
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

func TestContainerNotInSpecIsStopped(t *testing.T) {
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

func TestTerminateRuntimePodRunsNoHooks(t *testing.T) {
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
