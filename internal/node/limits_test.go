package node

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/pod/event"
)

// TestPodOverVolumeLimitIsEvicted, and stays so: also for a podctl
// that comes after it.
func TestPodOverVolumeLimitIsEvicted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		yaml := func(name, more string) string {
			text := podYAML(name, "sleep 1000", "volumes: [{name: v, emptyDir: {sizeLimit: 100Ki}}]", more)
			return strings.Replace(text, "command:", "volumeMounts: [{name: v, mountPath: /v}], command:", 1)
		}
		manifests := []string{yaml("full", ""), yaml("critical", "priority: 2000000000"), yaml("fits", "")}
		told := &evictions{}
		w.observer = told
		p := w.podctl("one", manifests...)
		for name, size := range map[string]int{"full": 200 << 10, "critical": 200 << 10, "fits": 50 << 10} {
			uid := p.until(name, "running", running).Pod.UID
			file := filepath.Join(w.root, "pods", string(uid), "volumes/kubernetes.io~empty-dir/v/f")
			if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		evicted := func(i Info) bool { return finished(i) && i.Status.Phase == v1.PodFailed }
		const message = `Usage of EmptyDir volume "v" exceeds the limit "100Ki". `
		status := p.until("full", "evicted", evicted).Status
		if status.Reason != "Evicted" || status.Message != message {
			t.Errorf("it ended as %s: %q", status.Reason, status.Message)
		}
		time.Sleep(time.Minute)
		p.until("critical", "running", running)
		p.until("fits", "running", running)
		p.until("full", "evicted", evicted)
		p.kill()
		if got := told.signals; len(got) != 1 || got[0] != "emptydirfs.limit" {
			t.Errorf("evictions told: %v", got)
		}

		next := w.podctl("one", manifests...)
		status = next.until("full", "evicted", evicted).Status
		if status.Reason != "Evicted" || status.Message != message {
			t.Errorf("after a crash it is %s: %q", status.Reason, status.Message)
		}
		next.drain()
		w.empty()
	})
}

// A pod over its limit that the runtime does not terminate is reported ten seconds
// after its eviction, whatever its own grace period is, and once.
func TestEvictionTimeoutIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		yaml := podYAML("full", "sleep 1000", "terminationGracePeriodSeconds: 600", "volumes: [{name: v, emptyDir: {sizeLimit: 100Ki}}]")
		p := w.podctl("one", strings.Replace(yaml, "command:", "volumeMounts: [{name: v, mountPath: /v}], command:", 1))
		uid := p.until("full", "running", running).Pod.UID
		undo := w.sim.Inject(sim.Fault{Method: "StopContainer", Times: -1, Hang: true})
		file := filepath.Join(w.root, "pods", string(uid), "volumes/kubernetes.io~empty-dir/v/f")
		if err := os.WriteFile(file, make([]byte, 200<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		for !slices.Contains(p.reasons(), event.Evicted) {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(9 * time.Second)
		if got := p.exceeded(); len(got) > 0 {
			t.Errorf("reported after 9s: %v", got)
		}
		time.Sleep(30 * time.Second)
		if got := p.exceeded(); !slices.Equal(got, []string{"full"}) {
			t.Errorf("reported: %v, want full", got)
		}
		undo()
		p.drain()
		w.empty()
	})
}

// evictions is an observer of those.
type evictions struct {
	noObserver
	signals []string
}

func (e *evictions) Evicted(signal string) { e.signals = append(e.signals, signal) }

// A container decides how long its pod takes to measure. That delays no other
// pod, and ends with the pod.
func TestSlowMeasurementDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deep, quick := &v1.Pod{}, &v1.Pod{}
		var measured, cancelled atomic.Int32
		measure := func(ctx context.Context, p *v1.Pod) {
			if p == quick {
				measured.Add(1)
				return
			}
			<-ctx.Done()
			cancelled.Add(1)
		}
		m := measurements{cancel: map[*v1.Pod]context.CancelFunc{}}
		for range 3 {
			m.start(t.Context(), []*v1.Pod{deep, quick}, measure)
			synctest.Wait()
		}
		if measured.Load() != 3 || cancelled.Load() != 0 {
			t.Errorf("measured %d times, cancelled %d times", measured.Load(), cancelled.Load())
		}
		m.start(t.Context(), []*v1.Pod{quick}, measure)
		m.running.Wait()
		if cancelled.Load() != 1 || len(m.cancel) != 0 {
			t.Errorf("cancelled %d times, %d are left", cancelled.Load(), len(m.cancel))
		}
	})
}
