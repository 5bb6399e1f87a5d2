package node

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// critical is a pod that counts as critical because it is static.
func critical(name, manifest string) string {
	return strings.Replace(manifest, "{name: "+name+"}", "{name: "+name+", annotations: {kubernetes.io/config.source: file}}", 1)
}

// Critical pods are touched only when the others are gone; what has ended or
// was stopped stays as it is, and so is not started by the next podctl.
func TestShutdownStopsCriticalPodsLast(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		manifests := []string{
			critical("dns", podYAML("dns", "sleep 3600", "terminationGracePeriodSeconds: 1")),
			podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 5"),
			podYAML("job", "exit 0", job),
			podYAML("idle", "sleep 3600", "terminationGracePeriodSeconds: 1"),
		}
		p := w.podctl("agent", manifests...)
		p.until("web", "running", running)
		p.until("dns", "running", running)
		p.until("job", "finished", finished)
		if err := p.Stop(t.Context(), "default", "idle", nil); err != nil {
			t.Fatal(err)
		}
		w.sim.ClearCalls()
		begin := time.Now()
		if err := p.Shutdown(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 6*time.Second || took > 12*time.Second {
			t.Errorf("it took %s: the pods have 5s and 1s", took)
		}
		want := []string{"StopContainer default/web/c", "StopContainer default/dns/c"}
		if got := w.calls("StopContainer"); !slices.Equal(got, want) {
			t.Errorf("stopped %v, want %v", got, want)
		}
		p.kill()
		p = w.podctl("agent", manifests...)
		p.until("web", "running", running)
		p.until("idle", "stopped", stopped)
		p.until("job", "finished", finished)
		want = []string{"StartContainer default/dns/c", "StartContainer default/web/c"}
		got := w.calls("StartContainer")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("started %v, want %v", got, want)
		}
		p.drain()
		w.empty()
	})
}

// Graces are cut to what the time allows, and a pod that ignores them is given
// up on at its end.
func TestShutdownKeepsItsDeadline(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent",
			podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 600"),
			critical("dns", podYAML("dns", "sleep 3600", "terminationGracePeriodSeconds: 600")))
		p.until("web", "running", running)
		p.until("dns", "running", running)
		begin := time.Now()
		if err := p.Shutdown(t.Context(), 30*time.Second); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 30*time.Second || took < 20*time.Second {
			t.Errorf("it took %s of 30s", took)
		}
		p.kill()
		w.empty()
	})
}

func TestShutdownReportsPodsLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		p.until("web", "running", running)
		undo := w.sim.Inject("method=StopContainer hang")
		begin := time.Now()
		if err := p.Shutdown(t.Context(), 30*time.Second); !errors.Is(err, ErrPodsLeft) {
			t.Errorf("err %v, want ErrPodsLeft", err)
		}
		if took := time.Since(begin); took != 30*time.Second {
			t.Errorf("it took %s of 30s", took)
		}
		if got := p.exceeded(); !slices.Equal(got, []string{"web"}) {
			t.Errorf("pods that exceeded their grace period: %v, want web", got)
		}
		undo()
		p.drain()
		w.empty()
	})
}
