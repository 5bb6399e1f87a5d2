package node

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/worker"
)

func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// requesting is a manifest whose container requests that much cpu.
func requesting(cpu, manifest string) string {
	return strings.Replace(manifest, "command:", "resources: {requests: {cpu: "+cpu+"}}, command:", 1)
}

const criticalClass = "priorityClassName: system-node-critical"

func rejected(reason string) func(Info) bool {
	return func(i Info) bool {
		var refused *admission.Error
		return errors.As(i.Rejected, &refused) && refused.Reason == reason &&
			i.Status.Phase == v1.PodFailed && i.Status.Reason == reason
	}
}

func evicted(i Info) bool {
	return i.WorkerPhase == worker.Finished && i.Status.Phase == v1.PodFailed && i.Status.Reason == "Preempting"
}

func TestPodThatDoesNotFitIsRejected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "3")
		a := w.podctl("agent", requesting("600m", podYAML("a", "sleep 3600")), requesting("500m", podYAML("b", "sleep 3600")))
		a.until("a", "running", running)
		i := a.until("b", "rejected", rejected("OutOfcpu"))
		if want := "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 600, capacity: 1000"; i.Status.Message != want {
			t.Errorf("message %q, want %q", i.Status.Message, want)
		}
		// It has failed for good, also when there is room.
		a.want(requesting("500m", podYAML("b", "sleep 3600")))
		time.Sleep(time.Minute)
		a.until("b", "rejected still", rejected("OutOfcpu"))
		a.drain()
		w.empty()
	})
}

func TestUnboundedNodeAdmitsAnyPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent", requesting("1M", podYAML("a", "sleep 3600")), requesting("1M", podYAML("b", "sleep 3600")))
		a.until("a", "running", running)
		a.until("b", "running", running)
		a.drain()
	})
}

func TestHostPortConflictRejectsPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		port := func(name string) string {
			return strings.Replace(podYAML(name, "sleep 3600"), "command:", "ports: [{containerPort: 80, hostPort: 8080}], command:", 1)
		}
		a := w.podctl("agent", port("a"), port("b"))
		a.until("a", "running", running)
		a.until("b", "rejected", rejected("NodePorts"))
		a.drain()
	})
}

// The victims and no others go, one after the other, with their own grace; they
// stay away, also when podctl is killed; and then the pod runs.
func TestCriticalPodEvictsPlannedVictims(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
		small := requesting("200m", podYAML("small", "sleep 3600", "terminationGracePeriodSeconds: 5"))
		big := requesting("300m", podYAML("big", "sleep 3600", "terminationGracePeriodSeconds: 5"))
		huge := requesting("500m", podYAML("huge", "sleep 3600"))
		dns := requesting("500m", podYAML("dns", "sleep 3600", criticalClass))
		a := w.podctl("agent", small, big)
		a.until("small", "running", running)
		a.until("big", "running", running)
		a.want(small, big, huge)
		a.until("huge", "running", running)
		a.want(small, big, huge, dns)
		begin := time.Now()
		a.until("dns", "running", running)
		if waited := time.Since(begin); waited < 30*time.Second {
			t.Errorf("dns runs after %v: huge has a grace of 30s", waited)
		}
		i := a.until("huge", "evicted", evicted)
		if c := condition(i.Status, v1.DisruptionTarget); c == nil || c.Status != v1.ConditionTrue {
			t.Errorf("conditions %v: no DisruptionTarget", i.Status.Conditions)
		}
		for _, name := range []string{"small", "big"} {
			a.until(name, "running on", running)
		}
		a.kill()
		b := w.podctl("agent", small, big, huge, dns)
		b.until("huge", "evicted still", evicted)
		for _, name := range []string{"small", "big", "dns"} {
			b.until(name, "running on", running)
		}
		if got := w.calls("StartContainer"); len(got) != 4 {
			t.Errorf("%d containers were started, want 4: %v", len(got), got)
		}
		b.drain()
		w.empty()
	})
}

func TestVictimsAreEvictedOneByOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
		first := requesting("500m", podYAML("first", "sleep 3600", "terminationGracePeriodSeconds: 7"))
		second := requesting("500m", podYAML("second", "sleep 3600", "terminationGracePeriodSeconds: 7"))
		a := w.podctl("agent", first, second)
		a.until("first", "running", running)
		a.until("second", "running", running)
		// Another pod that arrives at that time waits, and gets what remains.
		dns := requesting("900m", podYAML("dns", "sleep 3600", criticalClass))
		other := requesting("200m", podYAML("other", "sleep 3600"))
		begin := time.Now()
		a.want(first, second, dns, other)
		a.until("dns", "running", running)
		if waited := time.Since(begin); waited < 14*time.Second {
			t.Errorf("dns runs after %v: two victims have 7s each", waited)
		}
		a.until("other", "rejected", rejected("OutOfcpu"))
		a.drain()
		w.empty()
	})
}

// The kubelet admits the pod although a victim still runs; podctl does not.
func TestFailedEvictionRejectsCriticalPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
		stuck := requesting("1", podYAML("stuck", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		dns := requesting("500m", podYAML("dns", "sleep 3600", criticalClass))
		a := w.podctl("agent", stuck)
		a.until("stuck", "running", running)
		heal := w.sim.Inject("method=StopContainer nth=1 error=Unknown", "method=StopPodSandbox nth=1 error=Unknown")
		a.want(stuck, dns)
		a.until("dns", "rejected", rejected("UnexpectedAdmissionError"))
		if got := a.exceeded(); !slices.Equal(got, []string{"stuck"}) {
			t.Errorf("pods that exceeded their grace period: %v, want stuck", got)
		}
		heal()
		a.until("stuck", "evicted", evicted)
		a.drain()
		w.empty()
	})
}

// A pod that is not desired any more when there is room does not hold it.
func TestRoomOfRemovedPodIsReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
		victim := requesting("1", podYAML("victim", "sleep 3600", "terminationGracePeriodSeconds: 10"))
		a := w.podctl("agent", victim)
		a.until("victim", "running", running)
		a.want(victim, requesting("500m", podYAML("dns", "sleep 3600", criticalClass)))
		time.Sleep(5 * time.Second)
		a.want(victim, requesting("800m", podYAML("other", "sleep 3600")))
		a.until("other", "running", running)
		if slices.ContainsFunc(a.Pods(), func(i Info) bool { return i.Pod.Name == "dns" }) {
			t.Error("dns was admitted although it is not desired any more")
		}
		a.drain()
		w.empty()
	})
}

func condition(s v1.PodStatus, t v1.PodConditionType) *v1.PodCondition {
	i := slices.IndexFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}
