package pleg

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/pod"
)

var zeroTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// told is one line of a history: when which side reported which event.
type told struct {
	ms  int
	by  plegstat.Side
	typ pleg.EventType
	id  string
	// source of an event of the side with hints; "" is hint.
	source  pleg.Source
	initial bool
}

func (h told) event() plegstat.Event {
	ev := pleg.Event{Type: h.typ, ID: h.id, Container: "c", Source: h.source, Initial: h.initial}
	if ev.Source == "" {
		ev.Source = pleg.FromHint
	}
	if h.typ == pleg.ContainerStarted {
		ev.Status = &pod.Status{Containers: []*pod.ContainerStatus{{ID: h.id, State: pod.Running, StartedAt: zeroTime}}}
	}
	return plegstat.Event{Event: ev, Received: zeroTime.Add(time.Duration(h.ms) * time.Millisecond)}
}

func TestComparison(t *testing.T) {
	const started, died, removed = pleg.ContainerStarted, pleg.ContainerDied, pleg.ContainerRemoved
	for name, c := range map[string]struct {
		told []told
		end  int // ms
		want string
	}{
		"hints first": {[]told{{4, plegstat.ByHints, started, "a", "", false}, {640, plegstat.ByRelists, started, "a", "", false}}, 9000,
			"a ContainerStarted events by 636ms, 4ms and 640ms"},
		"relists first": {[]told{{3, plegstat.ByRelists, started, "a", "", false}, {10, plegstat.ByHints, started, "a", "", false}}, 9000,
			"a ContainerStarted relists by 7ms, 10ms and 3ms"},
		"together": {[]told{{3, plegstat.ByRelists, died, "a", "", false}, {3, plegstat.ByHints, died, "a", "", false}}, 9000,
			"a ContainerDied both by ,  and "},
		"not the same container": {[]told{{1, plegstat.ByHints, died, "a", "", false}, {2, plegstat.ByRelists, died, "b", "", false}}, 9000,
			"a ContainerDied events by ,  and missed; b ContainerDied relists by , missed and "},
		"too short for a relist": {[]told{{1, plegstat.ByHints, started, "a", "", false}, {300, plegstat.ByHints, died, "a", "", false}, {900, plegstat.ByRelists, died, "a", "", false}}, 9000,
			"a ContainerDied events by 600ms,  and ; a ContainerStarted events by , 1ms and missed"},
		"never seen by a relist": {[]told{{1, plegstat.ByHints, died, "a", "", false}, {2, plegstat.ByHints, removed, "a", "", false}}, 9000,
			"a ContainerDied events by ,  and missed; a ContainerRemoved events by ,  and missed"},
		"not hinted": {[]told{{600, plegstat.ByRelists, died, "a", "", false}}, 9000,
			"a ContainerDied relists by , missed and "},
		"not hinted, and caught up with": {[]told{{600, plegstat.ByRelists, died, "a", "", false}, {800, plegstat.ByHints, died, "a", pleg.FromRelist, false}}, 9000,
			"a ContainerDied relists by , missed and "},
		"caught up with first": {[]told{{500, plegstat.ByHints, died, "a", pleg.FromRelist, false}, {600, plegstat.ByRelists, died, "a", "", false}}, 9000,
			"a ContainerDied relists by , missed and "},
		"too recent": {[]told{{600, plegstat.ByHints, died, "a", "", false}}, 5599, "1 undecided"},
		"just old enough": {[]told{{600, plegstat.ByHints, died, "a", "", false}}, 5600,
			"a ContainerDied events by ,  and missed"},
		"late after all": {[]told{{600, plegstat.ByHints, died, "a", "", false}, {9000, plegstat.ByRelists, died, "a", "", false}}, 9000,
			"a ContainerDied events by 8.4s,  and "},
		"twice": {[]told{{1, plegstat.ByHints, started, "a", "", false}, {2, plegstat.ByHints, started, "a", "", false}, {5, plegstat.ByRelists, started, "a", "", false}, {9, plegstat.ByRelists, started, "a", "", false}}, 9000,
			"a ContainerStarted events by 4ms, 1ms and 5ms; a ContainerStarted events by 7ms, 2ms and 9ms"},
		"what was there":         {[]told{{1, plegstat.ByHints, started, "a", "", true}, {5, plegstat.ByRelists, started, "a", "", true}}, 9000, ""},
		"what was there for one": {[]told{{1, plegstat.ByHints, pleg.PodSync, "", "", false}}, 9000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := plegstat.NewComparison(5 * time.Second)
			decided := map[*plegstat.Transition]int{}
			for _, h := range c.told {
				ev := h.event()
				for _, late := range got.Overdue(ev.Received) {
					decided[late]++
				}
				if both := got.Add(h.by, ev); both != nil {
					decided[both]++
				}
			}
			for _, late := range got.Overdue(zeroTime.Add(time.Duration(c.end) * time.Millisecond)) {
				decided[late]++
			}
			var lines []string
			for x, times := range decided {
				if times != 1 {
					t.Errorf("%s %s was decided %d times", x.ID, x.Type, times)
				}
				first, by := whoWasFirst(x)
				lines = append(lines, fmt.Sprintf("%s %s %s by %s, %s and %s", x.ID, x.Type, first, by, lagCell(x, plegstat.ByHints), lagCell(x, plegstat.ByRelists)))
			}
			if n := got.Summary(0, 0).Undecided; n > 0 {
				lines = append(lines, fmt.Sprintf("%d undecided", n))
			}
			slices.Sort(lines)
			if text := strings.Join(lines, "; "); text != c.want {
				t.Errorf("%s, want %s", text, c.want)
			}
		})
	}
}

func TestCompareSummary(t *testing.T) {
	c := plegstat.NewComparison(5 * time.Second)
	for _, h := range []told{
		{4, plegstat.ByHints, pleg.ContainerStarted, "a", "", false}, {640, plegstat.ByRelists, pleg.ContainerStarted, "a", "", false},
		{2000, plegstat.ByHints, pleg.ContainerDied, "a", "", false}, {2100, plegstat.ByRelists, pleg.ContainerDied, "a", "", false},
		{3000, plegstat.ByHints, pleg.ContainerStarted, "b", "", false}, {3001, plegstat.ByHints, pleg.ContainerDied, "b", "", false},
		{3600, plegstat.ByRelists, pleg.ContainerDied, "c", "", false},
		{3700, plegstat.ByRelists, pleg.ContainerDied, "d", "", false}, {3800, plegstat.ByHints, pleg.ContainerDied, "d", "", false},
		{8900, plegstat.ByHints, pleg.ContainerDied, "e", "", false},
	} {
		c.Add(h.by, h.event())
	}
	c.Overdue(zeroTime.Add(9 * time.Second))
	s := c.Summary(9*time.Second, 1)
	want := plegstat.CompareSummary{
		Seconds: 9, Transitions: 7, HintsFirst: 2, RelistFirst: 1, AheadP50: 0.1, AheadP95: 0.636, AheadMax: 0.636,
		HintLagP50: 0.004, HintLagP95: 3, RelistLagP50: 0.64, RelistLagP95: 0.64,
		MissedByHints: 1, MissedByRelist: 2, ShortLived: 1, Undecided: 1, Gaps: 1,
	}
	if s != want {
		t.Errorf("%+v\nwant %+v", s, want)
	}
	text := strings.Join(compareLines(s), "\n")
	if text != `7 transitions in 9s · events first 2 times, by p50 100ms, p95 636ms, max 636ms · relists first 1 time
events missed 1 · relists missed 2, 1 never seen running · 1 undecided · event stream interrupted once
lag, where the runtime reports the time: events p50 4ms, p95 3s · relists p50 640ms, p95 640ms` {
		t.Error(text)
	}
	if text := strings.Join(compareLines(plegstat.NewComparison(1).Summary(61*time.Second, 0)), "\n"); text != "0 transitions in 61s: no pod changed" {
		t.Error(text)
	}
}
