package node

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/worker"
)

// What is not desired any more does not count: a kubelet whose file has changed
// has forgotten the pod before (GetActivePods), and lets the next one in.
func TestNewManifestFitsInPlaceOfOlderOne(t *testing.T) {
	for name, fix := range map[string]func(name, manifest string) string{
		"another uid": func(_, m string) string { return m }, "the same uid": fixUID,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
				web := func(command string) string {
					return fix("web", requesting("900m", podYAML("web", command, "terminationGracePeriodSeconds: 5")))
				}
				a := w.podctl("agent", web("sleep 3600"))
				a.until("web", "running", running)
				a.want(web("sleep 7200"))
				a.until("web", "replaced", func(i Info) bool { return running(i) && i.Pod.Spec.Containers[0].Command[2] == "sleep 7200" })
				a.drain()
				w.empty()
			})
		})
	}
}

// A new pod whose name sorts first finds the node as it is.
func TestAdoptedPodsAreAccountedBeforeNewOnes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
		web := requesting("900m", podYAML("web", "sleep 3600"))
		a := w.podctl("agent", web)
		a.until("web", "running", running)
		a.kill()
		b := w.podctl("agent", web, requesting("200m", podYAML("api", "sleep 3600")))
		b.until("web", "running on", running)
		b.until("api", "rejected", rejected("OutOfcpu"))
		b.drain()
		w.empty()
	})
}

// Room that was made for a pod which is then rejected for something else is
// free: other pods are admitted.
func TestRoomOfRejectedPodIsReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
		victim := requesting("1", podYAML("victim", "sleep 3600", "terminationGracePeriodSeconds: 10"))
		dns := requesting("500m", podYAML("dns", "sleep 3600", criticalClass))
		a := w.podctl("agent", victim)
		a.until("victim", "running", running)
		a.want(victim, dns)
		time.Sleep(5 * time.Second)
		w.foreign("dns")
		a.until("dns", "rejected", func(i Info) bool { return i.Rejected != nil })
		a.want(victim, dns, requesting("800m", podYAML("other", "sleep 3600")))
		a.until("other", "running", running)
		a.drain()
	})
}

// foreign runs a pod of the name that is not podctl's.
func (w *world) foreign(name string) {
	w.t.Helper()
	client := w.client()
	defer client.Close()
	_, err := client.RunPodSandbox(w.t.Context(), &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "foreign-" + name},
	}, "")
	if err != nil {
		w.t.Fatal(err)
	}
}

// A victim that waits for its name has no operation that would say how it
// ended.
func TestVictimThatNeverStartedStaysFailed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
		before := requesting("600m", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 60"))
		after := requesting("600m", podYAML("web", "sleep 7200"))
		dns := requesting("900m", podYAML("dns", "sleep 3600", criticalClass))
		a := w.podctl("agent", before)
		a.until("web", "running", running)
		a.want(after)
		time.Sleep(5 * time.Second)
		a.want(after, dns)
		a.until("dns", "running", running)
		a.until("web", "evicted", evicted)
		time.Sleep(time.Minute) // the older one has ended
		a.kill()
		b := w.podctl("agent", after, dns)
		b.until("web", "evicted still", func(i Info) bool { return i.WorkerPhase == worker.Finished && i.Status.Phase == v1.PodFailed })
		b.drain()
		w.empty()
	})
}

// A host port is free for the next manifest of the pod that has it.
func TestHostPortIsFreeForNextManifest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := func(command string) string {
			return strings.Replace(podYAML("web", command, "terminationGracePeriodSeconds: 5"), "command:", "ports: [{containerPort: 80, hostPort: 8080}], command:", 1)
		}
		a := w.podctl("agent", web("sleep 3600"))
		a.until("web", "running", running)
		a.want(web("sleep 7200"))
		a.until("web", "replaced", func(i Info) bool { return running(i) && i.Pod.Spec.Containers[0].Command[2] == "sleep 7200" })
		a.drain()
		w.empty()
	})
}
