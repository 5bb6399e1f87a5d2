package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod/event"
)

func TestJobLeavesNothingBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("job", "echo hi; exit 3", job))
		i := p.until("job", "finished", finished)
		if i.Status.Phase != v1.PodFailed || i.Status.ContainerStatuses[0].State.Terminated.ExitCode != 3 {
			t.Errorf("status: %+v", i.Status)
		}
		p.drain()
		w.empty()
		want := []string{
			"RunPodSandbox default/job", "CreateContainer default/job/c", "StartContainer default/job/c",
			"StopPodSandbox default/job", "RemoveContainer default/job/c", "RemovePodSandbox default/job",
		}
		if got := w.calls(); !slices.Equal(got, want) {
			t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestEndedJobIsNotRepeated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		text := podYAML("job", "sleep 1", job)
		a := w.podctl("run-a", text)
		a.until("job", "finished", finished)
		a.kill()
		b := w.podctl("run-b", text)
		if i := b.until("job", "finished", finished); !i.Succeeded() {
			t.Errorf("status: %+v", i.Status)
		}
		if got := w.calls("StartContainer"); len(got) != 1 {
			t.Errorf("starts: %v", got)
		}
		b.drain()
		w.empty()
	})
}

func TestPodsSurviveRuntimeRestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"), podYAML("job", "sleep 20", job))
		p.until("web", "running", running)
		p.until("job", "running", running)
		w.sim.Crash()
		time.Sleep(30 * time.Second)
		w.sim.Restart()
		if i := p.until("job", "finished", finished); !i.Succeeded() {
			t.Errorf("job: %+v", i.Status)
		}
		p.until("web", "running", running)
		if got := w.calls("StartContainer"); len(got) != 2 {
			t.Errorf("started again: %v", got)
		}
		for _, reason := range []string{event.RuntimeDown, event.RuntimeUp} {
			if !slices.Contains(p.reasons(), reason) {
				t.Errorf("no event %s: %v", reason, p.reasons())
			}
		}
		p.drain()
		w.empty()
	})
}

// Whatever call the runtime dies in, the pod comes up once it is back.
func TestRuntimeDiesDuringStart(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer", "PodSandboxStatus", "ImageStatus"} {
		for _, lost := range []string{"", "lost=Unavailable"} {
			inWorld(t, func(t *testing.T, w *world) {
				w.sim.Inject("method=" + method + " nth=1 hang " + lost)
				p := w.podctl("run-a", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
				time.Sleep(time.Second)
				w.sim.Crash()
				time.Sleep(5 * time.Second)
				w.sim.Restart()
				p.until("web", "running", running)
				p.drain()
				w.empty()
			})
		}
	}
}

func TestRemovedManifestStopsPodWithItsGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", `trap "" TERM; while true; do sleep 1; done`, "terminationGracePeriodSeconds: 7"))
		p.until("web", "running", running)
		began := time.Now()
		p.want()
		for len(p.Pods()) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took < 7*time.Second || took > 9*time.Second {
			t.Errorf("took %s, want its grace of 7s", took)
		}
		p.drain()
		w.empty()
	})
}
