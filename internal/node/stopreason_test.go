package node

import (
	"slices"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
)

// stops returns why each pod was stopped, in order.
func (p *podctl) stops() []event.StopReason {
	p.mu.Lock()
	defer p.mu.Unlock()
	var why []event.StopReason
	for _, ev := range p.events {
		if ev.Stop != nil {
			why = append(why, ev.Stop.Why)
		}
	}
	return why
}

func TestStopReasonInEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		p := w.podctl("agent", web)
		old := p.until("web", "running", running)
		p.want(podYAML("web", "sleep 7200", "terminationGracePeriodSeconds: 1"))
		p.until("web", "replaced", func(i Info) bool { return running(i) && i.Pod.UID != old.Pod.UID })
		if err := p.Stop(t.Context(), "default", "web", nil); err != nil {
			t.Fatal(err)
		}
		p.want(podYAML("api", "sleep 3600", "terminationGracePeriodSeconds: 1"), podYAML("db", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		p.until("api", "running", running)
		p.until("db", "running", running)
		p.want(podYAML("db", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		time.Sleep(time.Minute)
		p.drain()
		want := []event.StopReason{event.ManifestChanged, event.ByCommand, event.ManifestRemoved, event.Shutdown}
		if got := p.stops(); !slices.Equal(got, want) {
			t.Errorf("stops %q, want %q", got, want)
		}
		w.empty()
	})
}
