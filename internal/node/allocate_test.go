package node

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// asking is a pod that asks for CPU time.
func asking(name, cpu string) string {
	return strings.Replace(podYAML(name, "sleep 3600", "terminationGracePeriodSeconds: 1"), "{name: c,", "{name: c, resources: {requests: {cpu: "+cpu+"}},", 1)
}

func resizeState(i Info) (granted string, pending, progress bool) {
	for _, c := range i.Status.Conditions {
		pending = pending || c.Type == v1.PodResizePending
		progress = progress || c.Type == v1.PodResizeInProgress
	}
	if s := i.Status.ContainerStatuses; len(s) > 0 {
		granted = s[0].AllocatedResources.Cpu().String()
	}
	return granted, pending, progress
}

func has(cpu string, pending bool) func(Info) bool {
	return func(i Info) bool {
		granted, waits, progress := resizeState(i)
		return running(i) && granted == cpu && waits == pending && !progress
	}
}

// A resize that does not fit waits, shows so, and is granted once there is room; the
// pod keeps what it has meanwhile.
func TestResizeWaitsForRoom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("4Gi"), v1.ResourcePods: resource.MustParse("10")}
		p := w.podctl("run-a", asking("web", "1"), asking("db", "2"))
		p.until("web", "running", has("1", false))
		p.until("db", "running", has("2", false))
		w.sim.ClearCalls()
		p.want(asking("web", "3"), asking("db", "2"))
		i := p.until("web", "waiting for room", has("1", true))
		for _, c := range i.Status.Conditions {
			if c.Type == v1.PodResizePending && (c.Reason != "Deferred" || c.Message != "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000") {
				t.Errorf("condition: %+v", c)
			}
		}
		if got := w.calls("UpdateContainerResources"); len(got) > 0 {
			t.Errorf("resized: %v", got)
		}
		p.want(asking("web", "3"))
		p.until("web", "resized", has("3", false))
		if got := w.calls("UpdateContainerResources", "RunPodSandbox"); len(got) != 1 {
			t.Errorf("calls: %v", got)
		}
		p.drain()
	})
}

// syncCount counts the operations of pods by name.
type syncCount struct {
	noObserver
	mu    sync.Mutex
	count map[string]int
}

func (c *syncCount) OperationStarted(o worker.Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[o.Name]++
}

func (c *syncCount) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count[name]
}

// The simulated runtime says what a container uses, as a real one does.
func TestMemoryLimitBelowUseIsRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		limited := func(limit string) string {
			return strings.Replace(podYAML("web", "grow 60Mi; sleep 3600", "terminationGracePeriodSeconds: 1"), "{name: c,", "{name: c, resources: {limits: {memory: "+limit+"}},", 1)
		}
		p := w.podctl("run-a", limited("200Mi"))
		p.until("web", "running", running)
		time.Sleep(time.Minute)
		w.sim.ClearCalls()
		p.want(limited("20Mi"))
		p.until("web", "refused", func(i Info) bool { _, _, progress := resizeState(i); return progress })
		const want = `attempting to set container \"c\" memory limit (20971520) below current usage (63963136)`
		if got := strings.Join(p.messages(event.ResizeError), "\n"); !strings.Contains(got, want) {
			t.Errorf("events: %q, want %q", got, want)
		}
		time.Sleep(time.Minute)
		if got := w.calls("UpdateContainerResources", "StopContainer", "RunPodSandbox"); len(got) > 0 || len(p.messages(event.ResizeCompleted)) > 0 {
			t.Errorf("calls %v, events %v", got, p.reasons())
		}
		p.want(limited("100Mi"))
		p.until("web", "resized", func(i Info) bool {
			_, pending, progress := resizeState(i)
			return running(i) && !pending && !progress && i.Status.ContainerStatuses[0].AllocatedResources.Memory().String() == "100Mi"
		})
		if got := w.calls("UpdateContainerResources", "StopContainer"); len(got) != 1 {
			t.Errorf("calls: %v", got)
		}
		p.drain()
	})
}

// A pod whose resize waits for room is synced no more often than another.
func TestDeferredResizeIsRetriedWithoutSync(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("4Gi"), v1.ResourcePods: resource.MustParse("10")}
		synced := &syncCount{count: map[string]int{}}
		w.observer = synced
		p := w.podctl("run-a", asking("web", "1"))
		p.until("web", "running", has("1", false))
		p.want(asking("web", "8"))
		p.until("web", "waiting for room", has("1", true))
		before := synced.of("web")
		time.Sleep(30 * time.Second)
		if n := synced.of("web") - before; n > 2 {
			t.Errorf("synced %d times in 30 s", n)
		}
		p.drain()
	})
}

// Of several resizes that wait, room is given to the pod of the highest priority.
func TestDeferredResizesAreGrantedByPriority(t *testing.T) {
	for range 3 { // maps have no order
		inWorld(t, func(t *testing.T, w *world) {
			w.allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("5"), v1.ResourceMemory: resource.MustParse("4Gi"), v1.ResourcePods: resource.MustParse("10")}
			high := func(cpu string) string {
				return strings.Replace(asking("high", cpu), "containers:", "priority: 1000\n  containers:", 1)
			}
			p := w.podctl("run-a", asking("a", "1"), high("1"), asking("z", "1"), asking("db", "2"))
			for _, name := range []string{"a", "high", "z"} {
				p.until(name, "running", has("1", false))
			}
			p.until("db", "running", has("2", false))
			p.want(asking("a", "3"), asking("z", "3"), asking("db", "2"), high("1"))
			p.until("a", "waiting for room", has("1", true))
			p.until("z", "waiting for room", has("1", true))
			p.want(asking("a", "3"), high("3"), asking("z", "3"), asking("db", "2"))
			p.until("high", "waiting for room", has("1", true))
			p.want(asking("a", "3"), high("3"), asking("z", "3"))
			p.until("high", "resized", has("3", false))
			for _, name := range []string{"a", "z"} {
				p.until(name, "waiting for room", has("1", true))
			}
			p.drain()
		})
	}
}

// resizeObserver is told how the waits of resizes ended, and of admissions.
type resizeObserver struct {
	noObserver
	mu       sync.Mutex
	ended    []ResizeResolution
	admitted int
}

func (o *resizeObserver) DeferredResizeEnded(_ *v1.Pod, how ResizeResolution, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = append(o.ended, how)
}

func (o *resizeObserver) Admitted(*v1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.admitted++
}

// A wish that is withdrawn leaves nothing behind.
func TestResizeWithdrawn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		told := &resizeObserver{}
		w.observer = told
		w.allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("4Gi"), v1.ResourcePods: resource.MustParse("10")}
		p := w.podctl("run-a", asking("web", "1"))
		p.until("web", "running", has("1", false))
		p.want(asking("web", "8"))
		p.until("web", "waiting for room", has("1", true))
		p.want(asking("web", "1"))
		p.until("web", "as before", has("1", false))
		p.drain()
		if !slices.Equal(told.ended, []ResizeResolution{ResizeReverted}) || told.admitted != 1 {
			t.Errorf("waits ended %v; admitted %d", told.ended, told.admitted)
		}
	})
}

// The next podctl knows what the containers have: what was given by the last is not
// given again, and what was asked for meanwhile is.
func TestResizeSurvivesRestartOfPodctl(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", asking("web", "1"))
		p.until("web", "running", has("1", false))
		p.want(asking("web", "2"))
		p.until("web", "resized", has("2", false))
		w.sim.ClearCalls()
		p.kill()
		p = w.podctl("agent", asking("web", "2"))
		p.until("web", "adopted", has("2", false))
		time.Sleep(time.Minute)
		if got := w.calls("UpdateContainerResources", "RunPodSandbox"); len(got) > 0 {
			t.Errorf("given again: %v", got)
		}
		p.kill()
		p = w.podctl("agent", asking("web", "3"))
		p.until("web", "resized", has("3", false))
		if got := w.calls("UpdateContainerResources", "RunPodSandbox"); len(got) != 1 {
			t.Errorf("calls: %v", got)
		}
		p.drain()
		w.empty()
	})
}
