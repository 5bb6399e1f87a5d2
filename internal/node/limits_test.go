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

	"github.com/podctl/podctl/internal/lab/sim"
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
		undo := w.sim.Inject("method=StopContainer hang")
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

// limited returns a manifest of a pod of containers, or sidecars, that may have so much on
// disk.
func limited(name string, containers ...string) string {
	text := "\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  volumes: [{name: v, emptyDir: {}}]\n"
	lists := map[string][]string{}
	for _, c := range containers {
		list, c, more := "containers", c, ""
		if sidecar, is := strings.CutPrefix(c, "sidecar "); is {
			list, c, more = "initContainers", sidecar, "restartPolicy: Always, "
		}
		name, limit, _ := strings.Cut(c, " ")
		lists[list] = append(lists[list], "{name: "+name+`, image: "busybox:1", command: [sleep, "1000"], `+more+
			"volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {ephemeral-storage: "+limit+"}}}")
	}
	for list, of := range lists {
		text += "  " + list + ": [" + strings.Join(of, ", ") + "]\n"
	}
	return text
}

// A pod that has more on disk than the limits of its containers together is evicted, or
// one of which a container or sidecar has more than its own, as localStorageEviction of the
// kubelet has it: writable layers, logs, emptyDirs on disk.
func TestPodOverEphemeralStorageLimitIsEvicted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		told := &evictions{}
		w.observer = told
		for container, written := range map[string]uint64{
			"layer/c": 6 << 20, "one-of-two/b": 6 << 20, "sidecar/s": 6 << 20, "fits/c": 4 << 20, "together/c": 3 << 20,
		} {
			w.sim.Script(container, sim.Script{WritableLayerBytes: written})
		}
		p := w.podctl("one",
			limited("layer", "c 5Mi"), limited("one-of-two", "a 5Mi", "b 5Mi"), limited("sidecar", "sidecar s 5Mi", "c 5Mi"),
			limited("logs", "a 1Mi", "c 5Mi"), limited("empty-dir", "c 1Mi"), limited("together", "c 4Mi"), limited("fits", "c 5Mi"))
		write := func(path string) {
			t.Helper()
			if err := os.WriteFile(path, make([]byte, 2<<20), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		inVolume := func(name string) string {
			uid := p.until(name, "running", running).Pod.UID
			return filepath.Join(w.root, "pods", string(uid), "volumes/kubernetes.io~empty-dir/v/f")
		}
		write(inVolume("empty-dir"))
		write(inVolume("together"))
		logged := p.until("logs", "running", running).Pod
		write(filepath.Join(w.root, "logs", "default_logs_"+string(logged.UID), "a", "0.log.20260101-000000"))

		for name, want := range map[string]string{
			"layer":      "Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ",
			"one-of-two": `Container b exceeded its local ephemeral storage limit "5Mi". `,
			"sidecar":    `Container s exceeded its local ephemeral storage limit "5Mi". `,
			"logs":       `Container a exceeded its local ephemeral storage limit "1Mi". `,
			"empty-dir":  "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ",
			"together":   "Pod ephemeral local storage usage exceeds the total limit of containers 4Mi. ",
		} {
			s := p.until(name, "evicted", func(i Info) bool { return finished(i) && i.Status.Phase == v1.PodFailed }).Status
			if s.Reason != "Evicted" || s.Message != want {
				t.Errorf("%s ended as %s: %q, want %q", name, s.Reason, s.Message, want)
			}
		}
		time.Sleep(time.Minute)
		p.until("fits", "running", running)
		slices.Sort(told.signals)
		if want := []string{
			"ephemeralcontainerfs.limit", "ephemeralcontainerfs.limit", "ephemeralcontainerfs.limit",
			"ephemeralpodfs.limit", "ephemeralpodfs.limit", "ephemeralpodfs.limit",
		}; !slices.Equal(told.signals, want) {
			t.Errorf("evictions told: %v", told.signals)
		}
		p.drain()
		w.empty()
	})
}

// A runtime that does not tell the writable layers evicts no pod for them; emptyDirs have
// limits of their own, and a layer on a file system of images counts for the pod alone.
func TestStorageOfUnknownLayersEvictsNoPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Script("layer/c", sim.Script{WritableLayerBytes: 6 << 20})
		w.sim.Script("separate/b", sim.Script{WritableLayerBytes: 6 << 20})
		w.separateImages = true
		undo := w.sim.Inject("method=ListContainerStats hang")
		p := w.podctl("one", limited("layer", "c 5Mi"), limited("separate", "a 5Mi", "b 5Mi"))
		p.until("layer", "running", running)
		time.Sleep(time.Minute)
		p.until("layer", "running", running)
		undo()
		p.until("layer", "evicted", func(i Info) bool { return finished(i) && i.Status.Reason == event.Evicted })
		time.Sleep(time.Minute)
		p.until("separate", "running", running)
		p.drain()
		w.empty()
	})
}
