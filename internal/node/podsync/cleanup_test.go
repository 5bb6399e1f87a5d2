package podsync_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

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

func TestInitContainerStatusOfUnstartedPod(t *testing.T) {
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

func TestUnstartedContainersAreNotFailed(t *testing.T) {
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

func TestForgetDropsMemory(t *testing.T) {
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
