package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/pod"
)

// inVirtualTime calls test with a subject on a simulated runtime.
func inVirtualTime(t *testing.T, test func(ctx context.Context, runtime *sim.Runtime, s *Subject)) {
	logs := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		runtime := sim.New(sim.Options{Record: true})
		defer runtime.Close()
		calls := &Calls{}
		client, err := cri.Connect(ctx, cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: runtime.Dial, Observer: calls})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		defer cancel()
		test(ctx, runtime, NewSubject(ctx, "sim", &PodMaker{Client: client, Image: "busybox", Mark: "m1", LogDir: logs}, calls))
	})
}

// noPods fails the test if the runtime has a sandbox of the subject's.
func noPods(ctx context.Context, t *testing.T, s *Subject) {
	t.Helper()
	if left, err := s.Pods.Sweep(ctx); left > 0 || err != nil {
		t.Errorf("%d pods are left (%v)", left, err)
	}
}

func TestRunMeasuresAndRemovesItsPods(t *testing.T) {
	inVirtualTime(t, func(ctx context.Context, _ *sim.Runtime, s *Subject) {
		var levels []Level
		o := Options{Pods: []int{1, 3}, Rounds: 2, Callers: 1, Measured: func(l Level) { levels = append(levels, l) }}
		if err := Run(ctx, ctx, []*Subject{s}, o); err != nil {
			t.Fatal(err)
		}
		if len(levels) != 2 || levels[1].Pods != 3 {
			t.Fatalf("%+v", levels)
		}
		for _, m := range levels[1].Measures {
			want := 6
			switch m.Name {
			case "ListPodSandbox", "ListContainers", "PodSandboxStatus", "ContainerStatus":
				want = 2 * readsPerRound
			case "ExecSync":
				want = 2 * execs
			}
			if got := len(m.Series[0].Took); got != want {
				t.Errorf("%s: %d times, want %d", m.Name, got, want)
			}
		}
		noPods(ctx, t, s)
	})
}

func TestMaxEndsAtTheFirstPodThatFails(t *testing.T) {
	inVirtualTime(t, func(ctx context.Context, runtime *sim.Runtime, s *Subject) {
		runtime.Inject(`method=RunPodSandbox nth=28- error=Unknown message="no IP address is free"`) // the first is the warm-up
		var level Level
		o := Options{Pods: []int{Max}, Rounds: 2, Callers: 1, Measured: func(l Level) { level = l }, Room: func() error { return nil }}
		if err := Run(ctx, ctx, []*Subject{s}, o); err != nil {
			t.Fatal(err)
		}
		if level.Fitted[0] != 26 || !strings.Contains(level.Full[0].Error(), "no IP address is free") {
			t.Errorf("%d pods fitted, then: %v", level.Fitted[0], level.Full[0])
		}
		noPods(ctx, t, s)
	})
}

func TestMaxEndsWhereTheHostHasNoRoom(t *testing.T) {
	inVirtualTime(t, func(ctx context.Context, _ *sim.Runtime, s *Subject) {
		asked := 0
		o := Options{Pods: []int{Max}, Rounds: 1, Callers: 1, Measured: func(l Level) {
			if l.Fitted[0] != 2*fitWave {
				t.Errorf("%d pods fitted", l.Fitted[0])
			}
		}, Room: func() error {
			if asked++; asked > 2 {
				return errors.New("no memory")
			}
			return nil
		}}
		if err := Run(ctx, ctx, []*Subject{s}, o); err != nil {
			t.Fatal(err)
		}
	})
}

// TestInterruptRemovesPods: also those of which the runtime's answer never came.
func TestInterruptRemovesPods(t *testing.T) {
	inVirtualTime(t, func(ctx context.Context, runtime *sim.Runtime, s *Subject) {
		measuring, interrupt := context.WithCancel(ctx)
		runtime.Inject("method=RunPodSandbox pod=podctl-bench-m1-2 lost=Unknown")
		release := runtime.Inject("method=StartContainer pod=podctl-bench-m1-1 hang")
		done := make(chan error)
		go func() {
			done <- Run(measuring, ctx, []*Subject{s}, Options{Pods: []int{5}, Rounds: 1, Callers: 1, Measured: func(Level) { t.Error("measured") }})
		}()
		synctest.Wait()
		interrupt()
		synctest.Wait()
		release()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		noPods(ctx, t, s)
	})
}

func TestSweepLeavesPodsWithoutTheMark(t *testing.T) {
	inVirtualTime(t, func(ctx context.Context, _ *sim.Runtime, s *Subject) {
		other := *s.Pods
		other.Mark, other.Command = "m2", []string{"sleep", "1000"}
		kept, err := other.Start(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Pods.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if ready, err := s.Pods.Client.SandboxReady(ctx, kept.SandboxID); !ready || err != nil {
			t.Errorf("the pod of another is ready: %t, %v", ready, err)
		}
	})
}

func TestChooseImage(t *testing.T) {
	image := func(tags ...string) *pod.Image { return &pod.Image{RepoTags: tags} }
	for _, c := range []struct {
		images  []*pod.Image
		sandbox string
		want    string
	}{
		{[]*pod.Image{image("registry.k8s.io/pause:3.10"), image("docker.io/library/busybox:1.37")}, "", "docker.io/library/busybox:1.37"},
		{[]*pod.Image{image("registry.k8s.io/pause:3.10"), image("localhost:5000/my/app:1")}, "", "registry.k8s.io/pause:3.10"},
		{[]*pod.Image{image("example.com/base/sandbox:1")}, "example.com/base/sandbox:1", "example.com/base/sandbox:1"},
		{[]*pod.Image{image("docker.io/library/nginx:1"), image()}, "", ""},
	} {
		got, err := ChooseImage(c.images, c.sandbox)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("of %v: %q, %v; want %q", c.images[0].RepoTags, got, err, c.want)
		}
	}
}
