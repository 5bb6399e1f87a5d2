package pleg

import (
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pleg/plegstat"
)

// comparePrinter prints a comparison. Its errors are those of the output.
type comparePrinter interface {
	begin() error
	// transitions prints transitions that have been decided.
	transitions(now time.Time, list []*plegstat.Transition) error
	note(at time.Time, text string) error
	summary(at time.Time, s plegstat.CompareSummary) error
}

func newComparePrinter(e *shell.Env, o compareOptions) comparePrinter {
	if !o.format.IsTable() {
		return &compareData{o.format.NewStream(e.Out)}
	}
	p := &compareTable{watchTable{env: e, full: o.NoTrunc, noHeaders: o.format.NoHeaders, table: output.NewTable(
		[]string{"TIME", "POD", "EVENT", "CONTAINER", "FIRST", "BY", "EVENTS", "RELISTS"}, 1, 3)}}
	for column, likely := range []string{"15:04:05.000", "default/web-0", "ContainerStarted", "(sandbox)", "relists", "999ms", "missed", "missed"} {
		p.table.Expect(column, likely)
	}
	return p
}

// compareTable prints a table.
type compareTable struct{ watchTable }

func (p *compareTable) begin() error { return p.header() }

func (p *compareTable) transitions(_ time.Time, list []*plegstat.Transition) error {
	lines := make([]string, len(list))
	for i, t := range list {
		first, by := whoWasFirst(t)
		lines[i] = p.table.Row([]string{
			output.Clock(t.Received), output.OneLine(eventPod(t.Event)), string(t.Type), output.OneLine(eventContainer(t.Event)), first, by,
			lagCell(t, plegstat.ByHints), lagCell(t, plegstat.ByRelists),
		}, p.width())
	}
	if len(lines) == 0 {
		return nil
	}
	return p.lines(lines...)
}

func (p *compareTable) summary(_ time.Time, s plegstat.CompareSummary) error {
	return p.lines(compareLines(s)...)
}

// whoWasFirst returns the side that was first, and by how much.
func whoWasFirst(t *plegstat.Transition) (first, by string) {
	switch {
	case t.MissedBy(plegstat.ByHints):
		return "relists", ""
	case t.MissedBy(plegstat.ByRelists):
		return "events", ""
	case t.Ahead() > 0:
		return "events", output.ShortTime(t.Ahead())
	case t.Ahead() < 0:
		return "relists", output.ShortTime(-t.Ahead())
	}
	return "both", ""
}

// lagCell is the lag of a side, "" if it is unknown.
func lagCell(t *plegstat.Transition, s plegstat.Side) string {
	if t.MissedBy(s) {
		return "missed"
	}
	if lag, ok := t.LagOf(s); ok {
		return output.ShortTime(lag)
	}
	if t.InFuture(s) {
		return inFuture
	}
	return ""
}

// CompareLine is one line of `podctl pleg compare -o json`. Which fields are
// set depends on the type.
type CompareLine struct {
	Time time.Time `json:"time"` // when podctl decided
	Type string    `json:"type"` // transition, note, or summary for the last line

	Namespace string `json:"namespace,omitempty"` // of the pod
	Name      string `json:"name,omitempty"`      // of the pod
	UID       string `json:"uid,omitempty"`       // of the pod
	Event     string `json:"event,omitempty"`     // ContainerStarted, ContainerDied, ContainerRemoved
	Container string `json:"container,omitempty"` // container name; missing if the event is about a sandbox
	ID        string `json:"id,omitempty"`        // of the container or sandbox

	Happened *time.Time `json:"happened,omitempty"` // when it happened, if the runtime reports it
	Hint     *time.Time `json:"hint,omitempty"`     // when the PLEG with hints reported it; missing if it did not
	Relist   *time.Time `json:"relist,omitempty"`   // when the PLEG with relists reported it; missing if it did not
	// how much earlier the hint was than the relist; negative if the relist was first
	AheadSeconds   *float64 `json:"aheadSeconds,omitempty"`
	MissedByHints  bool     `json:"missedByHints,omitempty"`  // the runtime sent no event; hint is the time of the relist by which that PLEG caught up
	MissedByRelist bool     `json:"missedByRelist,omitempty"` // it ended before a relist could see it

	Message string                   `json:"message,omitempty"` // of a note
	Summary *plegstat.CompareSummary `json:"summary,omitempty"` // of a summary
}

// compareData prints one object per line.
type compareData struct{ stream *output.Stream }

func (p *compareData) begin() error { return nil }

func (p *compareData) transitions(now time.Time, list []*plegstat.Transition) error {
	for _, t := range list {
		if err := p.stream.Print(eventPod(t.Event), newCompareLine(t, now)); err != nil {
			return err
		}
	}
	return nil
}

func (p *compareData) note(at time.Time, text string) error {
	return p.stream.Print("", CompareLine{Time: at, Type: "note", Message: text})
}

func (p *compareData) summary(at time.Time, s plegstat.CompareSummary) error {
	return p.stream.Print("", CompareLine{Time: at, Type: "summary", Summary: &s})
}

func newCompareLine(t *plegstat.Transition, now time.Time) CompareLine {
	given := func(at time.Time) *time.Time {
		if at.IsZero() {
			return nil
		}
		return &at
	}
	l := CompareLine{
		Time: now, Type: "transition", Namespace: t.Namespace, Name: t.Name, UID: string(t.PodUID),
		Event: string(t.Type), Container: t.Container, ID: t.ID,
		Happened: given(t.Happened()), Hint: given(t.Seen[plegstat.ByHints]), Relist: given(t.Seen[plegstat.ByRelists]),
		MissedByHints: t.MissedBy(plegstat.ByHints), MissedByRelist: t.MissedBy(plegstat.ByRelists),
	}
	if t.Both() {
		ahead := t.Ahead().Seconds()
		l.AheadSeconds = &ahead
	}
	return l
}

// compareLines is the summary as text.
func compareLines(s plegstat.CompareSummary) []string {
	first := fmt.Sprintf("%s in %s", output.Plural(s.Transitions, "transition"), output.Age(seconds(s.Seconds)))
	if s.Transitions == 0 {
		return []string{first + ": no pod changed"}
	}
	var parts []string
	if s.HintsFirst > 0 {
		parts = append(parts, fmt.Sprintf("events first %s, by p50 %s, p95 %s, max %s", output.Plural(s.HintsFirst, "time"),
			output.ShortTime(seconds(s.AheadP50)), output.ShortTime(seconds(s.AheadP95)), output.ShortTime(seconds(s.AheadMax))))
	}
	if s.RelistFirst > 0 {
		parts = append(parts, fmt.Sprintf("relists first %s", output.Plural(s.RelistFirst, "time")))
	}
	lines := []string{strings.Join(append([]string{first}, parts...), " · ")}
	missed := "events missed " + nothingOr(s.MissedByHints) + " · relists missed " + nothingOr(s.MissedByRelist)
	if s.ShortLived > 0 {
		missed += fmt.Sprintf(", %d never seen running", s.ShortLived)
	}
	if s.Undecided > 0 {
		missed += fmt.Sprintf(" · %d undecided", s.Undecided)
	}
	if s.Gaps > 0 {
		missed += " · " + gapText(s.Gaps)
	}
	lines = append(lines, missed)
	return append(lines, fmt.Sprintf("lag, where the runtime reports the time: events p50 %s, p95 %s · relists p50 %s, p95 %s",
		output.ShortTime(seconds(s.HintLagP50)), output.ShortTime(seconds(s.HintLagP95)), output.ShortTime(seconds(s.RelistLagP50)), output.ShortTime(seconds(s.RelistLagP95))))
}

func nothingOr(n int) string {
	if n == 0 {
		return "nothing"
	}
	return fmt.Sprint(n)
}
