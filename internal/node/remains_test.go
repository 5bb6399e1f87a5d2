package node

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/worker"
)

// lose takes the pods away behind everybody's back, as a podctl does that is
// killed before it comes to their directories.
func (w *world) lose() {
	w.t.Helper()
	client, err := cri.Connect(w.t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: w.sim.Dial})
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	pods, err := client.ListPods(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range pods {
		for _, s := range p.Sandboxes {
			if err := client.RemovePodSandbox(w.t.Context(), s.ID); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func TestJobWithRecordOnlyIsNotRepeated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		text := podYAML("job", "sleep 1", job)
		a := w.podctl("run-a", text)
		a.until("job", "finished", finished)
		a.kill()
		w.lose()
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

// How the containers of a pod ended outlives the runtime's memory and podctl's own: by itself,
// by an init container, by its deadline, and by podctl stop.
func TestExitsOutliveTheRuntimesContainers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		stop bool
		want map[string]int32
	}{
		"failed":   {text: podYAML("job", "sleep 1; exit 3", job), want: map[string]int32{"c": 3}},
		"complete": {text: podYAML("job", "sleep 1", job), want: map[string]int32{"c": 0}},
		"init":     {text: podYAML("job", "sleep 1", job, "initContainers: [{name: i, image: busybox, command: [sh, -c, exit 4]}]"), want: map[string]int32{"i": 4}},
		"deadline": {text: podYAML("job", "sleep 3600", job, "activeDeadlineSeconds: 5", "terminationGracePeriodSeconds: 1"), want: map[string]int32{"c": 137}},
		"stopped":  {text: podYAML("job", `trap "exit 5" TERM; sleep 3600 & wait`), stop: true, want: map[string]int32{"c": 5}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				a := w.podctl("agent", c.text)
				if c.stop {
					a.until("job", "running", running)
					if err := a.Stop(t.Context(), "default", "job", nil); err != nil {
						t.Fatal(err)
					}
				}
				before := a.until("job", "finished", finished)
				a.kill()
				w.lose()
				b := w.podctl("agent", c.text)
				i := b.until("job", "finished", finished)
				got := map[string]int32{}
				for _, s := range append(i.Status.InitContainerStatuses, i.Status.ContainerStatuses...) {
					if s.State.Terminated != nil {
						got[s.Name] = s.State.Terminated.ExitCode
						if s.State.Terminated.Reason == "ContainerStatusUnknown" {
							t.Errorf("%s: %+v", s.Name, s.State.Terminated)
						}
					}
				}
				if !maps.Equal(got, c.want) || i.Status.Phase != before.Status.Phase {
					t.Errorf("%v %s, want %v %s", got, i.Status.Phase, c.want, before.Status.Phase)
				}
				b.drain()
				w.empty()
			})
		})
	}
}

func TestStoppedPodWithRecordOnlyStartsAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "echo up; sleep 3600", "terminationGracePeriodSeconds: 20")
		a := w.podctl("run-a", web)
		a.until("web", "running", running)
		a.want()
		time.Sleep(5 * time.Second)
		a.kill()
		w.lose()
		b := w.podctl("run-b", web)
		i := b.until("web", "running again", running)
		if n := i.Status.ContainerStatuses[0].RestartCount; n != 0 {
			t.Errorf("restart count %d: its former life's logs were counted", n)
		}
		b.drain()
		w.empty()
	})
}

func TestRecordOfOlderManifestIsIgnored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fixed := func(command string) string {
			return strings.Replace(podYAML("job", command, job), "{name: job}", "{name: job, uid: fixed-1}", 1)
		}
		a := w.podctl("run-a", fixed("sleep 1"))
		a.until("job", "finished", finished)
		a.kill()
		w.lose()
		b := w.podctl("run-b", fixed("sleep 2"))
		b.until("job", "finished", finished)
		if got := w.calls("StartContainer"); len(got) != 2 {
			t.Errorf("starts: %v", got)
		}
		b.drain()
		w.empty()
	})
}

// A podctl that is killed before its pod came to be leaves what the host has of
// it: the next podctl of the name removes it, also with another manifest.
func TestLeftoversOfUncreatedPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.sim.Inject("method=RunPodSandbox hang")
		a := w.podctl("run-a", podYAML("web", "sleep 1", job), podYAML("web-2", "sleep 1", job))
		time.Sleep(time.Second)
		a.client.Close()
		a.kill()
		release()
		b := w.podctl("run-b", podYAML("web", "sleep 2", job))
		b.until("web", "finished", finished)
		if left := w.cgroups.made; len(left) != 1 {
			t.Errorf("one is left of web-2, which is none of its business: %v", left)
		}
		b.drain()
		c := w.podctl("run-c", podYAML("web-2", "sleep 2", job))
		c.until("web-2", "finished", finished)
		c.drain()
		w.empty()
	})
}

// Nothing is left of a pod that had to be ended without its manifest.
func TestLeftoversOfPodWithoutManifest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("run-a", podYAML("web", "sleep 3600"))
		a.until("web", "running", running)
		a.kill()
		release := w.sim.Inject("method=PodSandboxStatus error=Unknown message=broken")
		b := w.podctl("run-b", podYAML("web", "sleep 2", job))
		time.Sleep(time.Second)
		release()
		b.until("web", "finished", finished)
		b.drain()
		w.empty()
	})
}

// A pod to which nothing was done yet is stopped without a trace.
func TestLeftoversOfPodStoppedBeforeStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sim.Inject("method=Status hang")() // so that it waits for its network
		a := w.podctl("run-a", podYAML("web", "sleep 1", job))
		time.Sleep(time.Second)
		w.sim.Crash() // so that its end takes a while
		a.want()
		a.until("web", "being stopped", func(i Info) bool { return i.WorkerPhase == worker.Terminating })
		a.kill()
		w.sim.Restart()
		if left, err := os.ReadDir(w.root + "/pods"); err == nil && len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// The record in a pod's directory is there before the pod's logs are, and goes after
// them: logs without it would be left for ever, because nothing says whose they are.
func TestLogsAreRemovedBeforeRecord(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		logs := func() []os.DirEntry {
			entries, _ := os.ReadDir(filepath.Join(w.root, "logs")) // it may not exist yet
			return entries
		}
		began, ended := false, false
		w.cgroups.ensuring = func(p *v1.Pod) {
			began = true
			if !poddir.HasRecord(filepath.Join(w.root, "pods", string(p.UID))) {
				t.Error("there is no record")
			}
			if left := logs(); len(left) > 0 {
				t.Errorf("there are logs before the record: %v", left)
			}
		}
		w.removing = func() {
			ended = true
			if left := logs(); len(left) > 0 {
				t.Errorf("there are logs after the record: %v", left)
			}
		}
		a := w.podctl("run-a", podYAML("web", "sleep 1", job))
		a.until("web", "finished", finished)
		a.drain()
		w.empty()
		if !began || !ended {
			t.Errorf("began %v, ended %v", began, ended)
		}
	})
}
