package podsync_test

import (
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func withEphemeral(p *v1.Pod, target string, names ...string) *v1.Pod {
	p = p.DeepCopy()
	for _, name := range names {
		c := v1.EphemeralContainerCommon{Name: name, Image: testImage, ImagePullPolicy: v1.PullIfNotPresent}
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, v1.EphemeralContainer{EphemeralContainerCommon: c, TargetContainerName: target})
	}
	return p
}

// An ephemeral container is started in the sandbox that runs, with the processes of
// its target, and never again.
func TestEphemeralContainerRunsOnceInTheSandbox(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			if cfg.Metadata.Name != "debug" {
				return program{}
			}
			if ns := cfg.Linux.SecurityContext.NamespaceOptions; ns.Pid != runtimeapi.NamespaceMode_TARGET || ns.TargetId != "c2" {
				t.Errorf("namespaces of the ephemeral container: %v", ns)
			}
			return program{lifetime: time.Second, code: 3}
		}
		p := podOf(v1.RestartPolicyAlways, container("c"))
		b.mustSync(p)
		p = withEphemeral(p, "c", "debug")
		b.mustSync(p)
		time.Sleep(2 * time.Second)
		res := b.mustSync(p)
		wantCalls(t, b, "RunPodSandbox", "CreateContainer c#0", "StartContainer c", "CreateContainer debug#0", "StartContainer debug")
		got := res.Status.EphemeralContainerStatuses
		if len(got) != 1 || got[0].State.Terminated == nil || got[0].State.Terminated.ExitCode != 3 || got[0].Ready {
			t.Errorf("status: %+v", got)
		}
		if res.Status.Phase != v1.PodRunning {
			t.Errorf("phase: %s", res.Status.Phase)
		}
		b.finish(p, nil)
	})
}

// One that cannot start keeps no other container from starting, and is tried again.
func TestEphemeralContainerWithoutItsTargetWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p := podOf(v1.RestartPolicyAlways, container("c"), container("d"))
		b.rt.fail = func(method, name string) error {
			if method == "CreateContainer" && name == "c" {
				return errors.New("no")
			}
			return nil
		}
		_, err := b.sync(p)
		if err == nil {
			t.Fatal("c was created")
		}
		p = withEphemeral(p, "c", "debug")
		res, err := b.sync(p)
		if err == nil {
			t.Fatal("the target is not there")
		}
		w := res.Status.EphemeralContainerStatuses[0].State.Waiting
		if w == nil || w.Reason != "CreateContainerConfigError" || w.Message != "unable to find target container c" {
			t.Errorf("status: %+v", res.Status.EphemeralContainerStatuses)
		}
		b.rt.fail = nil
		_, _ = b.sync(p) // the target is started after it
		b.mustSync(p)
		if res = b.mustSync(p); res.Status.EphemeralContainerStatuses[0].State.Running == nil {
			t.Errorf("status: %+v", res.Status.EphemeralContainerStatuses)
		}
		b.finish(p, nil)
	})
}
