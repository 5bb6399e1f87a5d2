package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod/event"
)

// labelled is a pod with a label.
func labelled(label string) string {
	return strings.Replace(podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"), "{name: web}", "{name: web, labels: {v: "+label+"}}", 1)
}

func TestLabelsChangeInPlace(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			p := w.podctl("run-a", labelled("one"))
			before := p.until("web", "running", running)
			w.sim.ClearCalls()
			if dead {
				p.kill()
				p = w.podctl("run-b", labelled("two"))
			} else {
				p.want(labelled("two"))
			}
			p.until("web", "relabelled", func(i Info) bool { return running(i) && i.Pod.Labels["v"] == "two" })
			time.Sleep(time.Minute)
			after := p.until("web", "running", running)
			if before.Pod.UID != after.Pod.UID || len(w.calls()) > 0 {
				t.Errorf("dead=%v: replaced or restarted: %v", dead, w.calls())
			}
			// What has been updated once is still the same pod for the next podctl.
			p.kill()
			p = w.podctl("run-c", labelled("two"))
			if again := p.until("web", "adopted", running); !again.Adopted || len(w.calls()) > 0 {
				t.Errorf("dead=%v: not adopted: %v", dead, w.calls())
			}
			p.drain()
			w.empty()
		})
	}
}

// A pod whose uid is fixed follows its manifest, and its status says up to which
// generation.
func TestObservedGenerationFollowsTheManifest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		version := func(generation, more string) string {
			return strings.Replace(podYAML("web", "sleep 3600", more), "{name: web}", "{name: web, uid: u1, generation: "+generation+"}", 1)
		}
		p := w.podctl("run-a", version("1", ""))
		p.until("web", "observed", func(i Info) bool { return running(i) && i.Status.ObservedGeneration == 1 })
		p.want(version("2", "tolerations: [{operator: Exists}]"))
		i := p.until("web", "observed", func(i Info) bool { return running(i) && i.Status.ObservedGeneration == 2 })
		for _, c := range i.Status.Conditions {
			if c.ObservedGeneration != 2 {
				t.Errorf("condition %s observed %d", c.Type, c.ObservedGeneration)
			}
		}
		if got := w.calls("RunPodSandbox", "StopContainer"); len(got) != 1 {
			t.Errorf("calls: %v", got)
		}
		p.drain()
	})
}

func TestChangedImageRestartsOnlyItsContainer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1") + "  - {name: d, image: \"busybox:1\", command: [sleep, \"3600\"]}\n"
		p := w.podctl("run-a", web)
		p.until("web", "running", running)
		w.sim.ClearCalls()
		p.want(strings.Replace(web, "name: c, image: \"busybox:1\"", "name: c, image: \"busybox:2\"", 1))
		i := p.until("web", "restarted", func(i Info) bool {
			return running(i) && i.Status.ContainerStatuses[0].RestartCount == 1
		})
		got, want := w.calls("StopContainer", "RunPodSandbox", "StartContainer"), []string{"StopContainer default/web/c", "StartContainer default/web/c"}
		if !slices.Equal(got, want) || i.Status.ContainerStatuses[1].RestartCount != 0 {
			t.Errorf("calls %v, want %v; status %+v", got, want, i.Status.ContainerStatuses)
		}
		if !slices.Contains(p.messages(event.Killing), "Container c definition changed, will be restarted") {
			t.Errorf("events: %v", p.reasons())
		}
		p.drain()
	})
}

func TestActiveDeadlineCanBeLowered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := func(deadline string) string {
			return podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1", "activeDeadlineSeconds: "+deadline)
		}
		p := w.podctl("run-a", web("3000"))
		start := p.until("web", "running", running)
		p.want(web("20"))
		end := p.until("web", "over its deadline", finished)
		if end.Status.Reason != "DeadlineExceeded" || end.Pod.UID != start.Pod.UID {
			t.Errorf("ended as %+v", end.Status)
		}
		// The API server does not allow raising it: the pod begins again.
		p.want(web("4000"))
		p.until("web", "running again", running)
		w.sim.ClearCalls()
		p.want(web("5000"))
		p.until("web", "replaced", func(i Info) bool { return running(i) && *i.Pod.Spec.ActiveDeadlineSeconds == 5000 })
		if got := w.calls("RunPodSandbox"); len(got) != 1 {
			t.Errorf("calls: %v", got)
		}
		p.drain()
	})
}

// A pod that has ended begins again with any change of its manifest, also if none
// was there to see it, and also if it was updated in place before its end.
func TestManifestChangeRestartsEndedPod(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			work := func(label string) string {
				return strings.Replace(podYAML("work", "sleep 5", job), "{name: work}", "{name: work, labels: {v: "+label+"}}", 1)
			}
			p := w.podctl("agent", work("one"))
			p.until("work", "running", running)
			p.want(work("two"))
			p.until("work", "ended", finished)
			w.sim.ClearCalls()
			restart := func(label string) {
				p.kill()
				p = w.podctl("agent", work(label))
			}
			restart("two")
			time.Sleep(time.Minute)
			if i := p.until("work", "still ended", finished); i.Status.Phase != v1.PodSucceeded || len(w.calls("StartContainer")) > 0 {
				t.Errorf("dead=%v: %+v, calls %v", dead, i.Status, w.calls())
			}
			if dead {
				restart("three")
			} else {
				p.want(work("three"))
			}
			p.until("work", "running again", running)
			p.drain()
			w.empty()
		})
	}
}
