package node

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod/event"
)

// The containers of an evicted pod are removed once it has ended, and not before: the
// pod shows how each of them ended. Their logs stay as long as the pod.
func TestContainersOfEvictedPodAreRemoved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		text := podYAML("two", `trap "exit 7" TERM; sleep 3600 & wait`, "terminationGracePeriodSeconds: 30") +
			`  - {name: deaf, image: "busybox:1", command: [sh, -c, 'trap "" TERM; while true; do sleep 1; done']}` + "\n"
		p := w.podctl("agent", text)
		uid := p.until("two", "running", running).Pod.UID
		if err := p.evictNamed(t.Context(), "two", event.Eviction{Cause: event.Preempted, For: "default/dns", Resource: "cpu"}); err != nil {
			t.Fatal(err)
		}
		status := p.until("two", "evicted", evicted).Status
		for i, code := range []int32{7, 137} {
			if end := status.ContainerStatuses[i].State.Terminated; end == nil || end.ExitCode != code || end.Reason != "Error" {
				t.Errorf("container %d: %+v, want exit code %d", i, end, code)
			}
		}
		want := []string{"RemoveContainer default/two/c", "RemoveContainer default/two/deaf"}
		if got := slices.Sorted(slices.Values(w.calls("RemoveContainer"))); !slices.Equal(got, want) {
			t.Errorf("removed %v, want %v", got, want)
		}
		for _, name := range []string{"c", "deaf"} {
			if logs, err := os.ReadDir(filepath.Join(w.root, "logs", "default_two_"+string(uid), name)); len(logs) != 1 {
				t.Errorf("logs of %s: %v %v", name, logs, err)
			}
		}
		time.Sleep(time.Minute) // a later relist changes nothing
		if got := p.until("two", "evicted", evicted).Status; got.ContainerStatuses[0].State.Terminated.ExitCode != 7 {
			t.Errorf("later it is %+v", got)
		}
		p.kill()
		next := w.podctl("agent", text)
		next.until("two", "evicted still", evicted)
		next.drain()
		w.empty()
	})
}

func TestContainersOfEndedPodAreKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", podYAML("job", "exit 3", job))
		p.until("job", "finished", finished)
		time.Sleep(time.Minute)
		if got := w.calls("RemoveContainer"); len(got) > 0 {
			t.Errorf("removed: %v, want nothing", got)
		}
		p.drain()
		w.empty()
	})
}

// evictNamed evicts a pod of the default namespace, as making room for a critical pod does.
func (p *podctl) evictNamed(ctx context.Context, name string, why event.Eviction) error {
	p.pods.mu.Lock()
	e, err := p.pods.named("default", name)
	var spec *v1.Pod
	if err == nil {
		spec = e.Pod
	}
	p.pods.mu.Unlock()
	if err != nil {
		return err
	}
	return p.evictor.evict(ctx, spec, why)
}
