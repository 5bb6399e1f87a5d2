package podsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pod"
)

// sized is a container with CPU time and memory: requests and limits alike.
func sized(name, cpu, memory string) v1.Container {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Limits: list, Requests: list.DeepCopy()}}
}

// resizeBench runs a pod of two containers and returns it; what is done from then on
// is in b.host.steps and the calls after the returned number.
func resizeBench(t *testing.T, b *bench, c, d v1.Container) (p *v1.Pod, calls int) {
	t.Helper()
	p = podOf(v1.RestartPolicyAlways, c, d)
	b.host.enforced = cgroup.PodLimits(p).Amounts()
	b.mustSync(p)
	b.mustSync(p) // sees that they run
	b.host.steps = nil
	return p, len(b.calls())
}

// did are the calls of the runtime and what was done to the cgroup.
func did(b *bench, after int) (calls, steps []string) {
	for _, c := range b.calls()[after:] {
		calls = append(calls, c.String())
	}
	return calls, slices.DeleteFunc(slices.Clone(b.host.steps), func(s string) bool { return !strings.HasPrefix(s, "cgroup ") })
}

func conditionsOf(s v1.PodStatus, t v1.PodConditionType) *v1.PodCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

// The cgroup of the pod grows before its containers and shrinks after them, requests
// before limits where both shrink; of the containers those that shrink come first.
func TestResizeInPlace(t *testing.T) {
	for _, c := range []struct {
		name          string
		after         [2]v1.Container
		calls, cgroup []string
	}{
		{"more", [2]v1.Container{sized("c", "200m", "64Mi"), sized("d", "100m", "32Mi")},
			[]string{"UpdateContainerResources c 102/10000/67108864", "UpdateContainerResources c 204/20000/67108864"},
			[]string{"cgroup 0/0/100663296", "cgroup 0/30000/0", "cgroup 307/0/0"}},
		{"less", [2]v1.Container{sized("c", "50m", "16Mi"), sized("d", "100m", "32Mi")},
			[]string{"UpdateContainerResources c 102/10000/16777216", "UpdateContainerResources c 51/5000/16777216"},
			[]string{"cgroup 0/0/50331648", "cgroup 153/0/0", "cgroup 0/15000/0"}},
		{"from one to the other", [2]v1.Container{sized("c", "150m", "32Mi"), sized("d", "50m", "32Mi")},
			[]string{"UpdateContainerResources d 51/5000/33554432", "UpdateContainerResources c 153/15000/33554432"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				p, before := resizeBench(t, b, sized("c", "100m", "32Mi"), sized("d", "100m", "32Mi"))
				next := podOf(v1.RestartPolicyAlways, c.after[:]...)
				next.Generation = 2
				b.syncer.ResizeStarted(next)
				b.mustSync(next)
				calls, steps := did(b, before)
				if !slices.Equal(calls, c.calls) || !slices.Equal(steps, c.cgroup) {
					t.Errorf("calls %q\nwant  %q\ncgroup %q\nwant   %q", calls, c.calls, steps, c.cgroup)
				}
				res := b.mustSync(next)
				if got := conditionsOf(res.Status, v1.PodResizeInProgress); got != nil {
					t.Errorf("still in progress: %+v", got)
				}
				if got := res.Status.ContainerStatuses[0]; !got.Resources.Limits.Cpu().Equal(*c.after[0].Resources.Limits.Cpu()) ||
					got.AllocatedResources.Cpu().Cmp(*c.after[0].Resources.Requests.Cpu()) != 0 || got.RestartCount != 0 {
					t.Errorf("status: %+v", got)
				}
				for i, s := range res.Status.ContainerStatuses {
					if got, want := s.Resources.Requests.Memory(), c.after[i].Resources.Requests.Memory(); !got.Equal(*want) {
						t.Errorf("container %s requests %s of memory, want %s", s.Name, got, want)
					}
				}
				if got := b.events.reasons(); !slices.Contains(got, "ResizeStarted") || !slices.Contains(got, "ResizeCompleted") {
					t.Errorf("events: %v", got)
				}
				if len(b.hooks.resized) != 1 {
					t.Errorf("recorded %d times", len(b.hooks.resized))
				}
				_ = p
				b.finish(next, nil)
			})
		})
	}
}

func TestResizeRestartPolicyRestartsOneContainer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		c := sized("c", "100m", "32Mi")
		c.ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
		_, before := resizeBench(t, b, c, sized("d", "100m", "32Mi"))
		c.Resources = sized("c", "100m", "64Mi").Resources
		next := podOf(v1.RestartPolicyAlways, c, sized("d", "100m", "32Mi"))
		*next.Spec.TerminationGracePeriodSeconds = 3
		b.mustSync(next)
		calls, steps := did(b, before)
		if want := []string{"StopContainer c 3s", "CreateContainer c#1", "StartContainer c"}; !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q", calls, want)
		}
		if want := []string{"cgroup 0/0/100663296"}; !slices.Equal(steps, want) {
			t.Errorf("cgroup %q, want %q", steps, want)
		}
		b.mustSync(next)
		if calls, _ := did(b, before); len(calls) != 3 {
			t.Errorf("again: %q", calls)
		}
		b.finish(next, nil)
	})
}

// What a container gets with its next start counts for the pod's cgroup, too.
func TestResizeOfContainerThatEndedResizesPod(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.rt.program = func(cfg *runtimeapi.ContainerConfig) program {
			if cfg.Metadata.Name == "c" {
				return program{lifetime: time.Second, code: 1}
			}
			return program{}
		}
		_, before := resizeBench(t, b, sized("c", "100m", "32Mi"), sized("d", "100m", "32Mi"))
		time.Sleep(2 * time.Second)
		next := podOf(v1.RestartPolicyAlways, sized("c", "200m", "32Mi"), sized("d", "100m", "32Mi"))
		b.mustSync(next)
		calls, steps := did(b, before)
		if want := []string{"CreateContainer c#1", "StartContainer c"}; !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q", calls, want)
		}
		if want := []string{"cgroup 0/30000/0", "cgroup 307/0/0"}; !slices.Equal(steps, want) {
			t.Errorf("cgroup %q, want %q", steps, want)
		}
		b.finish(next, nil)
	})
}

func TestResizeComesBeforeContainersThatStart(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		_, before := resizeBench(t, b, sized("c", "100m", "32Mi"), sized("d", "100m", "32Mi"))
		next := withEphemeral(podOf(v1.RestartPolicyAlways, sized("c", "100m", "64Mi"), sized("d", "100m", "32Mi")), "c", "debug")
		b.mustSync(next)
		calls, _ := did(b, before)
		if want := []string{"UpdateContainerResources c 102/10000/67108864", "CreateContainer debug#0", "StartContainer debug"}; !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q", calls, want)
		}
		b.finish(next, nil)
	})
}

// A limit below what is used would kill: it is refused, shown, and tried again.
func TestResizeDoesNotLowerMemoryBelowUsage(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		_, before := resizeBench(t, b, sized("c", "100m", "32Mi"), sized("d", "100m", "32Mi"))
		b.rt.memory = map[string]int64{"c2": 20 << 20}
		next := podOf(v1.RestartPolicyAlways, sized("c", "100m", "16Mi"), sized("d", "100m", "32Mi"))
		if _, err := b.sync(next); err == nil {
			t.Fatal("resized below what is used")
		}
		res, err := b.sync(next)
		got := conditionsOf(res.Status, v1.PodResizeInProgress)
		if err == nil || got == nil || got.Reason != v1.PodReasonError ||
			!strings.Contains(got.Message, `attempting to set container "c" memory limit (16777216) below current usage (20971520)`) {
			t.Errorf("%v, condition %+v", err, got)
		}
		if got := res.Status.Resources.Limits.Memory().String(); got != "64Mi" {
			t.Errorf("the pod has a memory limit of %s, want 64Mi as before", got)
		}
		if calls, _ := did(b, before); len(calls) > 0 {
			t.Errorf("calls: %q", calls)
		}
		if n := strings.Count(fmt.Sprint(b.events.reasons()), "ResizeError"); n != 1 {
			t.Errorf("%d events of the error", n)
		}
		b.rt.memory = nil
		time.Sleep(time.Second)
		b.mustSync(next)
		if res = b.mustSync(next); conditionsOf(res.Status, v1.PodResizeInProgress) != nil {
			t.Errorf("status: %+v", res.Status.Conditions)
		}
		if got := res.Status.Resources.Limits.Memory().String(); got != "48Mi" {
			t.Errorf("the pod has a memory limit of %s, want 48Mi", got)
		}
		b.finish(next, nil)
	})
}

// What the node does not grant is shown; what an earlier podctl gave is not given
// again.
func TestResizeContinuesAfterAdoption(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		p, before := resizeBench(t, b, sized("c", "100m", "32Mi"), sized("d", "100m", "32Mi"))
		b.syncer.Forget(p.UID)
		b.syncer.ResizePending(p, "Node didn't have enough resource: cpu")
		res := b.mustSync(p)
		if got := conditionsOf(res.Status, v1.PodResizePending); got == nil || got.Reason != v1.PodReasonDeferred {
			t.Errorf("conditions: %+v", res.Status.Conditions)
		}
		next := podOf(v1.RestartPolicyAlways, sized("c", "200m", "32Mi"), sized("d", "100m", "32Mi"))
		b.syncer.Forget(p.UID)
		b.syncWith(next, pod.AllocationOf(next))
		if calls, _ := did(b, before); len(calls) > 0 {
			t.Errorf("given again: %q", calls)
		}
		b.syncer.Forget(p.UID)
		b.syncWith(next, pod.AllocationOf(p))
		if calls, _ := did(b, before); !slices.Equal(calls, []string{"UpdateContainerResources c 204/20000/33554432"}) {
			t.Errorf("calls: %q", calls)
		}
		b.finish(next, nil)
	})
}
