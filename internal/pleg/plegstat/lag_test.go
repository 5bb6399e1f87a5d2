package plegstat

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// died is the end of a container, detected so long after it happened by the runtime's time.
func died(late time.Duration) Event {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	c := &pod.ContainerStatus{ID: "c", State: pod.Exited, FinishedAt: at.Add(-late)}
	return Event{Event: pleg.Event{Type: pleg.ContainerDied, Container: "app", ID: "c", Status: &pod.Status{Containers: []*pod.ContainerStatus{c}}}, Received: at}
}

func TestEventInFutureHasNoLag(t *testing.T) {
	var s WatchStats
	for _, late := range []time.Duration{time.Second, 3 * time.Second, -time.Hour, -2 * time.Millisecond, -time.Microsecond} {
		ev := died(late)
		if lag, ok := ev.Lag(); ok != (late >= -resolution) || ok && lag != max(0, late) || ev.InFuture() == ok {
			t.Errorf("%s: lag %s, %v, in future %v", late, lag, ok, ev.InFuture())
		}
		s.Add(ev)
	}
	sum := s.Summary(time.Minute, NewMeter(time.Now), 0)
	if sum.Lags != 3 || *sum.LagMax != 3 || sum.InFuture != 2 {
		t.Errorf("%+v", sum)
	}
}

func TestSummaryOfNothingHasNoTimes(t *testing.T) {
	var s WatchStats
	s.Add(died(-time.Hour))
	if got, err := json.Marshal(s.Summary(time.Minute, NewMeter(time.Now), 0)); err != nil || strings.Contains(string(got), "Max") {
		t.Errorf("%s, %v", got, err)
	}
}
