package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/worker"
)

func TestSameManifestAdoptsPodOfDeadPodctl(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		a := w.podctl("run-a", web)
		first := a.until("web", "running", running)
		a.kill()
		b := w.podctl("run-b", web)
		second := b.until("web", "running", running)
		if !second.Adopted || first.Status.ContainerStatuses[0].ContainerID != second.Status.ContainerStatuses[0].ContainerID {
			t.Errorf("not the same container: %+v, then %+v", first.Status, second.Status)
		}
		time.Sleep(time.Minute)
		if got := w.calls("RunPodSandbox", "StartContainer"); len(got) != 2 {
			t.Errorf("started again: %v", got)
		}
		b.drain()
		w.empty()
	})
}

// The old pod has terminated before the new one starts, also if no podctl was
// there when the manifest changed.
func TestChangedManifestReplacesPod(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			before := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 5")
			after := podYAML("web", "sleep 7200", "terminationGracePeriodSeconds: 5")
			p := w.podctl("run-a", before)
			old := p.until("web", "running", running)
			w.sim.ClearCalls()
			if dead {
				p.kill()
				p = w.podctl("run-b", after)
			} else {
				p.want(after)
			}
			fresh := p.until("web", "replaced", func(i Info) bool { return running(i) && i.Pod.UID != old.Pod.UID })
			if fresh.Status.ContainerStatuses[0].RestartCount != 0 {
				t.Errorf("dead=%v: the new pod has restarts: %+v", dead, fresh.Status)
			}
			got := w.calls("StopContainer", "StopPodSandbox", "RemovePodSandbox", "RunPodSandbox", "StartContainer")
			want := []string{"StopContainer default/web/c", "StopPodSandbox default/web", "RemovePodSandbox default/web", "RunPodSandbox default/web", "StartContainer default/web/c"}
			if !slices.Equal(got, want) {
				t.Errorf("dead=%v: calls:\n%s\nwant:\n%s", dead, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			p.drain()
			w.empty()
		})
	}
}

func TestManifestChangesDuringTermination(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		versions := []string{"sleep 3601", "sleep 3602", "sleep 3603", "sleep 3604"}
		pod := func(n int) string { return podYAML("web", versions[n], "terminationGracePeriodSeconds: 20") }
		p := w.podctl("run-a", pod(0))
		p.until("web", "running", running)
		for n := range versions {
			p.want(pod(n))
			time.Sleep(3 * time.Second)
		}
		last := desire(t, pod(3))[0].Pod.UID
		p.until("web", "at its last manifest", func(i Info) bool { return running(i) && i.Pod.UID == last })
		if got := w.calls("StartContainer"); len(got) != 2 {
			t.Errorf("pods in between were started: %v", got)
		}
		p.drain()
		w.empty()
	})
}

// Back to the manifest of the pod that is terminating: it terminates, and then starts again.
func TestManifestReturnsDuringTermination(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 10")
		p := w.podctl("run-a", web)
		first := p.until("web", "running", running)
		p.want()
		time.Sleep(3 * time.Second)
		p.want(web)
		p.until("web", "running again", func(i Info) bool {
			return running(i) && i.Status.ContainerStatuses[0].ContainerID != first.Status.ContainerStatuses[0].ContainerID
		})
		p.drain()
		w.empty()
	})
}

func TestPodOfLivePodctlIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		a := w.podctl("run-a", web)
		a.until("web", "running", running)
		b := w.podctl("run-b", podYAML("web", "sleep 1"))
		i := b.until("web", "rejected", func(i Info) bool { return i.Rejected != nil })
		if !strings.Contains(i.Rejected.Error(), "run-a") {
			t.Errorf("the owner is not named: %v", i.Rejected)
		}
		b.drain()
		time.Sleep(time.Minute)
		a.until("web", "running on", running)
		a.drain()
		w.empty()
	})
}

func TestInterruptedStopIsCompleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 20")
		a := w.podctl("run-a", web)
		first := a.until("web", "running", running)
		a.want()
		time.Sleep(5 * time.Second)
		a.kill()
		b := w.podctl("run-b", web)
		second := b.until("web", "running again", func(i Info) bool {
			return running(i) && i.Status.ContainerStatuses[0].ContainerID != first.Status.ContainerStatuses[0].ContainerID
		})
		if second.Status.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("it is a restart, not a new pod: %+v", second.Status)
		}
		b.drain()
		w.empty()
	})
}

func TestForeignPodOfSameNameBlocksStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("run-a", podYAML("other", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		sandbox, err := render.Sandbox(desire(t, podYAML("web", "sleep 1"))[0].Pod, render.SandboxInput{Node: a.opts.Facts})
		if err != nil {
			t.Fatal(err)
		}
		sandbox.Metadata.Uid = "made-by-crictl"
		sandbox.Labels["io.kubernetes.pod.uid"] = "made-by-crictl"
		id, err := a.client.RunPodSandbox(t.Context(), sandbox, "")
		if err != nil {
			t.Fatal(err)
		}
		a.want(podYAML("web", "sleep 1"))
		a.until("web", "rejected", func(i Info) bool { return i.Rejected != nil })
		if err := a.client.RemovePodSandbox(t.Context(), id); err != nil {
			t.Error(err)
		}
		a.drain()
	})
}

// What is heard of a pod while its remains are removed does not begin another
// life of it.
func TestEventOfPodInRemovalStartsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", fixUID("job", podYAML("job", "sleep 1; exit 1", job)))
		p.until("job", "finished", finished)
		w.sim.ClearCalls()
		release := w.sim.Inject("method=RemoveContainer hang")
		p.want(fixUID("job", podYAML("job", "sleep 3600", job)))
		time.Sleep(5 * time.Second)
		p.pleg.RequestReinspect("fixed-1")
		time.Sleep(5 * time.Second)
		if i := p.Pods()[0]; i.WorkerPhase != worker.Unknown {
			t.Errorf("its worker is %s", i.WorkerPhase)
		}
		release()
		p.until("job", "running", running)
		want := []string{"RemoveContainer", "RemovePodSandbox", "RunPodSandbox", "StartContainer"}
		if got := w.calls(want...); len(got) != len(want) {
			t.Errorf("calls: %v", got)
		}
		p.drain()
		w.empty()
	})
}

// A manifest that fixes its uid is another pod under the same uid once it has
// changed, whether podctl was there to see it or not.
func TestChangedManifestWithFixedUID(t *testing.T) {
	for _, dead := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			fixed := func(command string) string {
				return fixUID("web", podYAML("web", command, "terminationGracePeriodSeconds: 2"))
			}
			p := w.podctl("run-a", fixed("sleep 3600"))
			first := p.until("web", "running", running)
			if dead {
				p.kill()
				p = w.podctl("run-b", fixed("sleep 7200"))
			} else {
				p.want(fixed("sleep 7200"))
			}
			second := p.until("web", "replaced", func(i Info) bool {
				return running(i) && i.Status.ContainerStatuses[0].ContainerID != first.Status.ContainerStatuses[0].ContainerID
			})
			if second.Status.ContainerStatuses[0].RestartCount != 0 || second.Pod.Spec.Containers[0].Command[2] != "sleep 7200" {
				t.Errorf("dead=%v: %+v", dead, second)
			}
			p.drain()
			w.empty()
		})
	}
}
