package podsync_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

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

func TestPreStopTimeIsTakenFromGrace(t *testing.T) {
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

func TestPreStopBeyondGraceRunsUntilContainerStops(t *testing.T) {
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

func TestFailedPreStopHookEventHasNoOutput(t *testing.T) {
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

// TestShorterGraceShortensTermination: the first is cancelled in its hook,
// the second gives the container the rest, without the hook again.
func TestShorterGraceShortensTermination(t *testing.T) {
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
		if _, err := b.terminate(t.Context(), p, new(int64(3))); err != nil {
			t.Fatal(err)
		}
		wantCalls(t, b, "StopContainer c 3s", "StopPodSandbox")
	})
}

func TestSidecarsStopLastInReverseOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			return map[string]program{"c": {onTerm: 2 * time.Second}, "s2": {onTerm: 3 * time.Second}, "s1": {onTerm: time.Second}}[cfg.Metadata.Name]
		}
		p := initPod(v1.RestartPolicyAlways, sidecar("s1"), sidecar("s2"))
		p.Spec.TerminationGracePeriodSeconds = new(int64(20))
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

func TestSidecarsStopWithinGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.latency = 0
		b.rt.program = func(*runtimeapi.ContainerConfig) program { return program{onTerm: -1} }
		p := initPod(v1.RestartPolicyAlways, sidecar("s1"))
		p.Spec.TerminationGracePeriodSeconds = new(int64(4))
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
