package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// TestAPodIsEvictedOnceAVolumeIsOverItsLimit, and stays so: also for a podctl
// that comes after it.
func TestAPodIsEvictedOnceAVolumeIsOverItsLimit(t *testing.T) {
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

// evictions is an observer of those.
type evictions struct {
	nobody
	signals []string
}

func (e *evictions) Evicted(signal string) { e.signals = append(e.signals, signal) }
