package podsync_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/podsync"
)

// turns records each turn among the calls of the runtime, and among the host's steps.
type turns struct {
	rt   *fakeRuntime
	host *fakeHost
}

func (s turns) Enter(ctx context.Context, _ *v1.Pod) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.record("(")
	return func() { s.record(")") }, nil
}

func (s turns) record(what string) {
	s.rt.mu.Lock()
	defer s.rt.mu.Unlock()
	s.rt.calls = append(s.rt.calls, call{method: what})
	_ = s.host.step(what) // no test has it fail
}

func (b *bench) ordered() {
	b.opt.Starts = turns{b.rt, b.host}
	b.syncer = podsync.New(b.opt)
}

func TestTurnLastsFromSandboxToLastStart(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.ordered()
		p := podOf(v1.RestartPolicyAlways, container("a"), container("b"))
		b.mustSync(p)
		b.mustSync(p) // nothing to start
		wantCalls(t, b, "(", "RunPodSandbox", "CreateContainer a#0", "StartContainer a", "CreateContainer b#0", "StartContainer b", ")")
	})
}

// Volumes may have to wait for something, the cgroup costs CPU time.
func TestTurnIncludesCgroupNotVolumes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.ordered()
		b.mustSync(podOf(v1.RestartPolicyAlways, container("c")))
		if want := []string{"mount", "(", "cgroup", ")"}; !slices.Equal(b.host.steps, want) {
			t.Errorf("host steps %q; want %q", b.host.steps, want)
		}
	})
}

// A slow registry must not keep other pods from starting.
func TestPullRunsOutsideTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.ordered()
		b.mustSync(imagePod("example.com/a:1", v1.PullIfNotPresent))
		wantCalls(t, b, "(", "RunPodSandbox", ")", "PullImage example.com/a:1", "(", "CreateContainer c#0", "StartContainer c", ")")
	})
}

func TestPostStartHookRunsOutsideTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.ordered()
		p := podOf(v1.RestartPolicyAlways, container("a"), container("b"))
		hook := sleepHook(60)
		p.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &hook}
		b.mustSync(p)
		wantCalls(t, b, "(", "RunPodSandbox", "CreateContainer a#0", "StartContainer a", ")", "(", "CreateContainer b#0", "StartContainer b", ")")
	})
}

func TestFailedStartEndsTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.ordered()
		b.rt.fail = func(method, _ string) error {
			if method == "RunPodSandbox" {
				return errors.New("no network")
			}
			return nil
		}
		if _, err := b.sync(podOf(v1.RestartPolicyAlways, container("c"))); err == nil {
			t.Error("no error")
		}
		wantCalls(t, b, "(", "RunPodSandbox", ")")
	})
}
