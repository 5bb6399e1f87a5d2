package node

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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

// endedPod is a pod that has ended under the label, and its agent.
func endedPod(w *world, label string) *podctl {
	p := w.podctl("agent", endingPod("one"))
	p.until("work", "running", running)
	p.want(endingPod(label))
	p.until("work", "ended", finished)
	w.sim.ClearCalls()
	return p
}

// endingPod is a pod that ends, with a label.
func endingPod(label string, more ...string) string {
	return strings.Replace(podYAML("work", "sleep 5", append(more, job)...), "{name: work}", "{name: work, uid: w1, labels: {v: "+label+"}}", 1)
}

// What the API server lets change in a pod that has ended starts nothing: a Job's pod
// would run twice. That is so if the agent sees the change, if it comes while no agent runs,
// and if the runtime has lost the pod meanwhile.
func TestEndedPodStaysEndedWhenItsManifestChangesInPlace(t *testing.T) {
	changes := map[string]string{
		"label":      endingPod("three"),
		"annotation": strings.Replace(endingPod("two"), "labels:", "annotations: {a: b}, labels:", 1),
		"image":      strings.Replace(endingPod("two"), "busybox:1", "busybox:2", 1),
		"toleration": endingPod("two", "tolerations: [{operator: Exists}]"),
		"deadline":   endingPod("two", "activeDeadlineSeconds: 3"),
	}
	for _, what := range slices.Sorted(maps.Keys(changes)) {
		for _, seen := range []string{"by the agent", "by the next agent", "without the runtime's pod"} {
			inWorld(t, func(t *testing.T, w *world) {
				p := endedPod(w, "two")
				if seen == "by the agent" {
					p.want(changes[what])
				} else {
					p.kill()
					if seen == "without the runtime's pod" {
						w.lose()
					}
					p = w.podctl("agent", changes[what])
				}
				time.Sleep(time.Minute)
				p.kill() // and what it became is remembered
				p = w.podctl("agent", changes[what])
				time.Sleep(time.Minute)
				i := p.until("work", "still ended", finished)
				if calls := w.calls("StartContainer", "RunPodSandbox"); i.Status.Phase != v1.PodSucceeded || len(calls) > 0 {
					t.Errorf("%s changed, seen %s: %s, calls %v", what, seen, i.Status.Phase, calls)
				}
				p.drain()
				w.empty()
			})
		}
	}
}

// Any other change replaces a pod that has ended, and podctl start runs it again.
func TestEndedPodBeginsAgainWithAnotherManifest(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			p := endedPod(w, "two")
			other := strings.Replace(endingPod("two"), "sleep 5", "sleep 6", 1)
			if dead {
				p.kill()
				p = w.podctl("agent", other)
			} else {
				p.want(other)
			}
			p.until("work", "running again", running)
			p.until("work", "ended again", finished)
			if err := p.Start(t.Context(), "default", "work"); err != nil {
				t.Error(err)
			}
			p.until("work", "running a third time", running)
			p.drain()
			w.empty()
		})
	}
}

// A pod that podctl stop stopped begins again with any change, also of a label.
func TestManifestChangeRestartsStoppedPod(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			p := w.podctl("agent", endingPod("one"))
			p.until("work", "running", running)
			if err := p.Stop(t.Context(), "default", "work", nil); err != nil {
				t.Fatal(err)
			}
			if dead {
				p.kill()
				p = w.podctl("agent", endingPod("two"))
			} else {
				p.want(endingPod("two"))
			}
			p.until("work", "running again", running)
			p.drain()
			w.empty()
		})
	}
}

// The document that a pod runs by is remembered, also if it was updated in place.
func TestDocumentThatAPodRunsByIsRemembered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		one, two := desire(t, labelled("one"))[0], desire(t, labelled("two"))[0]
		check := func(p *podctl, by Desired) {
			t.Helper()
			synctest.Wait()
			for _, d := range []Desired{one, two} {
				if got, want := p.RanManifest(d.UID(), d.Document), bytes.Equal(d.Document, by.Document); got != want {
					t.Errorf("runs by %s: %v, want %v", d.Document, got, want)
				}
			}
		}
		p := w.podctl("run-a", labelled("one"))
		p.until("web", "running", running)
		check(p, one)
		p.want(labelled("two"))
		p.until("web", "relabelled", func(i Info) bool { return running(i) && i.Pod.Labels["v"] == "two" })
		check(p, two)
		p.kill()
		p = w.podctl("run-b", labelled("two"))
		check(p, two)
		p.drain()
	})
}
