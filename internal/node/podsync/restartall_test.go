package podsync_test

import (
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// asksOnce exits with 42 in its first run only; the others run on.
func asksOnce() func(*runtimeapi.ContainerConfig) program {
	asked := false
	return func(cfg *runtimeapi.ContainerConfig) program {
		if cfg.Metadata.Name == "a" && !asked {
			asked = true
			return program{lifetime: time.Second, code: 42}
		}
		if cfg.Metadata.Name == "i" {
			return program{lifetime: time.Second}
		}
		return program{}
	}
}

func TestRestartAllContainersExitRule(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = asksOnce()
		p := restartsAll(v1.RestartPolicyNever)
		p.Spec.InitContainers = []v1.Container{container("i")}
		defaulted(p)
		b.mustSync(p)
		time.Sleep(2 * time.Second) // the init container has ended
		b.mustSync(p)
		time.Sleep(2 * time.Second) // so has a
		b.mustSync(p)
		time.Sleep(2 * time.Second)
		res := b.mustSync(p)
		// The init container runs again, in the same sandbox.
		wantCalls(t, b,
			"RunPodSandbox", "CreateContainer i#0", "StartContainer i",
			"CreateContainer a#0", "StartContainer a", "CreateContainer b#0", "StartContainer b",
			"StopContainer b 2s",
			"CreateContainer i#0", "StartContainer i",
			"CreateContainer a#0", "StartContainer a", "CreateContainer b#0", "StartContainer b")
		for _, cs := range append(res.Status.InitContainerStatuses, res.Status.ContainerStatuses...) {
			if cs.RestartCount != 1 {
				t.Errorf("%s restarted %d times; want once", cs.Name, cs.RestartCount)
			}
		}
	})
}

func TestInterruptedRestartOfAllContainersContinues(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = asksOnce()
		p := restartsAll(v1.RestartPolicyNever)
		b.mustSync(p)
		time.Sleep(2 * time.Second)
		b.rt.fail = func(method, name string) error {
			if method == "StopContainer" {
				return errors.New("shim is busy")
			}
			return nil
		}
		if _, err := b.sync(p); err == nil {
			t.Fatal("no error")
		}
		// Another podctl, which remembers nothing, finds who asked.
		b.rt.fail = nil
		b.syncer.Forget(p.UID)
		b.mustSync(p)
		st := b.rt.snapshot()
		if len(st.Containers) != 2 || !st.AnyRunning() || st.Container("a").ExitCode != 0 {
			t.Errorf("the runtime holds %d containers, a exited %d", len(st.Containers), st.Container("a").ExitCode)
		}
	})
}
