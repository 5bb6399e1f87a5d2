package pleg

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/pod"
)

var seenAt = time.Date(2026, 1, 2, 15, 4, 5, 118e6, time.UTC)

// someEvent is one of default/web's container web, or of its sandbox if
// status is one of a sandbox.
func someEvent(typ pleg.EventType, status any) plegstat.Event {
	ev := pleg.Event{PodUID: "u", Type: typ, ID: "id", Namespace: "default", Name: "web", Container: "web", Source: pleg.FromHint}
	switch s := status.(type) {
	case *pod.ContainerStatus:
		s.ID = "id"
		ev.Status = &pod.Status{Containers: []*pod.ContainerStatus{s}}
	case *pod.SandboxStatus:
		s.ID = "id"
		ev.Status, ev.Container = &pod.Status{Sandboxes: []*pod.SandboxStatus{s}}, ""
	}
	return plegstat.Event{Event: ev, Received: seenAt}
}

// TestLagIsFromWhatTheStatusSays, where it says something.
func TestLagIsFromWhatTheStatusSays(t *testing.T) {
	before := func(d time.Duration) time.Time { return seenAt.Add(-d) }
	exited := &pod.ContainerStatus{State: pod.Exited, CreatedAt: before(9 * time.Second), StartedAt: before(7 * time.Second), FinishedAt: before(time.Second)}
	initial := someEvent(pleg.ContainerStarted, exited)
	initial.Initial = true
	for name, c := range map[string]struct {
		ev   plegstat.Event
		want time.Duration // -1 is none
	}{
		"started":                    {someEvent(pleg.ContainerStarted, exited), 7 * time.Second},
		"died":                       {someEvent(pleg.ContainerDied, exited), time.Second},
		"removed":                    {someEvent(pleg.ContainerRemoved, exited), -1},
		"died, but it runs":          {someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Running, FinishedAt: before(time.Hour)}), -1},
		"died without a time":        {someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Exited}), -1},
		"the clock was set":          {someEvent(pleg.ContainerStarted, &pod.ContainerStatus{StartedAt: before(-time.Second)}), -1},
		"what was there":             {initial, -1},
		"gone":                       {someEvent(pleg.ContainerDied, nil), -1},
		"sandbox started":            {someEvent(pleg.ContainerStarted, &pod.SandboxStatus{CreatedAt: before(time.Minute)}), time.Minute},
		"sandbox died":               {someEvent(pleg.ContainerDied, &pod.SandboxStatus{CreatedAt: before(time.Minute)}), -1},
		"another's status was read":  {plegstat.Event{Event: pleg.Event{Type: pleg.ContainerStarted, ID: "other", Container: "web", Status: initial.Status}, Received: seenAt}, -1},
		"another's sandbox was read": {plegstat.Event{Event: pleg.Event{Type: pleg.ContainerStarted, ID: "other", Status: initial.Status}, Received: seenAt}, -1},
	} {
		lag, ok := c.ev.Lag()
		if c.want < 0 && ok || c.want >= 0 && (!ok || lag != c.want) {
			t.Errorf("%s: %v, %v", name, lag, ok)
		}
	}
}

func TestDetail(t *testing.T) {
	merged := someEvent(pleg.PodSync, nil)
	merged.Coalesced = 64
	for want, ev := range map[string]plegstat.Event{
		"exit 3":                 someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Exited, ExitCode: 3, Reason: "Error"}),
		"exit 0":                 someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Exited, Reason: "Completed"}),
		"exit 137 OOMKilled":     someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Exited, ExitCode: 137, Reason: "OOMKilled"}),
		"vanished":               someEvent(pleg.ContainerDied, nil),
		"restart 2":              someEvent(pleg.ContainerStarted, &pod.ContainerStatus{State: pod.Running, RestartCount: 2}),
		"10.88.0.7,2001:db8::7":  someEvent(pleg.ContainerStarted, &pod.SandboxStatus{IPs: []string{"10.88.0.7", "2001:db8::7"}}),
		"host network":           someEvent(pleg.ContainerStarted, &pod.SandboxStatus{HostNetwork: true}),
		"reinspected":            someEvent(pleg.PodSync, &pod.ContainerStatus{}),
		"status does not arrive": someEvent(pleg.PodSync, nil),
		"65 events in one":       merged,
		"":                       someEvent(pleg.ContainerRemoved, &pod.ContainerStatus{State: pod.Exited, ExitCode: 3}),
	} {
		if got := eventDetail(ev); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// tableOf is what the table's printer makes of events on a terminal.
func tableOf(o watchOptions, e *shell.Env, events ...plegstat.Event) string {
	var out strings.Builder
	e.Out, e.TTY = &out, true
	p := newWatchPrinter(e, o)
	if err := p.events(events); err != nil {
		return err.Error()
	}
	return out.String()
}

func TestWatchTablePaintsWhatFailed(t *testing.T) {
	size := func() (int, int) { return 0, 0 }
	good := someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Exited})
	bad := someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Exited, ExitCode: 3})
	row := "15:04:05.118  default/web               ContainerDied     web        exit 3              hint"
	if got := tableOf(watchOptions{}, &shell.Env{Size: size}, bad); got != output.Red+row+output.Plain+"\n" {
		t.Errorf("%q", got)
	}
	for name, got := range map[string]string{
		"good":       tableOf(watchOptions{}, &shell.Env{Size: size}, good),
		"--no-color": tableOf(watchOptions{Globals: shell.Globals{NoColor: true}}, &shell.Env{Size: size}, bad),
		"NO_COLOR":   tableOf(watchOptions{}, &shell.Env{Size: size, NoColor: true}, bad),
	} {
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWatchTableIsSafe: what a runtime calls things cannot move the cursor,
// nor make two lines of one.
func TestWatchTableIsSafe(t *testing.T) {
	ev := someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Exited, Reason: "a\nb\x1b[2J"})
	ev.Name, ev.Container = "w\x1b[31m", "c\r\n"
	ev.Status.Containers[0].Name = ev.Container
	got := tableOf(watchOptions{Globals: shell.Globals{NoColor: true}}, &shell.Env{Size: func() (int, int) { return 0, 0 }}, ev)
	if strings.ContainsAny(got, "\x1b\r") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}

func TestWatchTableFitsTheTerminalUnlessNothingIsToBeCut(t *testing.T) {
	ev := someEvent(pleg.ContainerDied, &pod.ContainerStatus{State: pod.Exited})
	ev.Name = strings.Repeat("long", 20)
	ev.ID = strings.Repeat("0123456789abcdef", 4)
	size := func() (int, int) { return 80, 24 }
	if got := tableOf(watchOptions{}, &shell.Env{Size: size}, ev); len([]rune(got)) > 81 || strings.Contains(got, ev.ID) {
		t.Errorf("%q", got)
	}
	if got := tableOf(watchOptions{Globals: shell.Globals{NoTrunc: true}}, &shell.Env{Size: size}, ev); !strings.Contains(got, ev.Name) || !strings.HasSuffix(got, ev.ID+"\n") {
		t.Errorf("%q", got)
	}
}

// TestWatchPrintersReturnTheOutputsError, so that watch ends when its reader
// has gone.
func TestWatchPrintersReturnTheOutputsError(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	for _, output := range []string{"", "json"} {
		p := newWatchPrinter(&shell.Env{Out: w, Size: func() (int, int) { return 0, 0 }}, watchOptions{format: format(t, output)})
		for name, err := range map[string]error{
			"events":  p.events([]plegstat.Event{someEvent(pleg.PodSync, nil)}),
			"note":    p.note(seenAt, "note"),
			"summary": p.summary(seenAt, plegstat.WatchSummary{}),
		} {
			if err == nil {
				t.Errorf("%q: %s: no error", output, name)
			}
		}
	}
}

func TestWatchSummaryText(t *testing.T) {
	n := func(n int) *int { return &n }
	for _, c := range []struct {
		sum  plegstat.WatchSummary
		want string
	}{
		{plegstat.WatchSummary{}, "0 events in 0s · no hints"},
		{
			plegstat.WatchSummary{Seconds: 9.4, Events: map[string]int{"ContainerDied": 2, "ContainerStarted": 1, "PodSync": 1}, Relists: 2, RelistMax: new(0.003), Lags: 3, LagMax: new(1.5), Unhinted: n(1)},
			"4 events in 9s: 1 ContainerStarted, 2 ContainerDied, 1 PodSync · 2 full relists, max 3ms · lag max 1.5s · 1 change without a hint",
		},
		{
			plegstat.WatchSummary{Seconds: 75, Events: map[string]int{"ContainerRemoved": 1}, Relists: 1, RelistMax: new(0.0), Unhinted: n(0), Gaps: 2},
			"1 event in 75s: 1 ContainerRemoved · 1 full relist, max 0ms · every change had a hint · event stream interrupted 2 times",
		},
		{plegstat.WatchSummary{Unhinted: n(3)}, "0 events in 0s · 3 changes without a hint"},
	} {
		if got := watchSummaryText(c.sum); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

func TestShortTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "<invalid>", 0: "0ms", time.Microsecond: "<1ms", 1234 * time.Microsecond: "1.23ms", 9999 * time.Microsecond: "10ms",
		12345 * time.Microsecond: "12ms", 999*time.Millisecond + 600*time.Microsecond: "1s", 1234 * time.Millisecond: "1.23s",
		12345 * time.Millisecond: "12s", 75 * time.Second: "75s",
	} {
		if got := output.ShortTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// format is a value of --output.
func format(t *testing.T, value string) output.Format {
	t.Helper()
	f, err := output.ParseFormat(value)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
