package main

import (
	"encoding/json"
	"io"
	"strings"
	"time"
)

// comparePrinter shows a comparison. An error is the output's.
type comparePrinter interface {
	begin() error
	// transitions are those that have been decided.
	transitions(now time.Time, list []*transition) error
	note(at time.Time, text string) error
	summary(at time.Time, s compareSummary) error
}

func newComparePrinter(e *env, g globals) comparePrinter {
	if g.output == "json" {
		return &compareJSON{e.out}
	}
	p := &compareTable{watchTable{env: e, full: g.noTrunc, table: newStreamTable(
		[]string{"TIME", "POD", "EVENT", "CONTAINER", "FIRST", "BY", "EVENTS", "RELISTS"}, 1, 3)}}
	for column, likely := range []string{"15:04:05.000", "default/web-0", "ContainerStarted", "(sandbox)", "relists", "999ms", "missed", "missed"} {
		p.table.expect(column, likely)
	}
	return p
}

// compareTable is for people.
type compareTable struct{ watchTable }

func (p *compareTable) begin() error { return p.lines(p.table.row(p.table.header, p.width())) }

func (p *compareTable) transitions(_ time.Time, list []*transition) error {
	lines := make([]string, len(list))
	for i, t := range list {
		first, by := t.verdict()
		lines[i] = p.table.row([]string{
			clock(t.at), oneLine(t.podName()), string(t.Type), oneLine(t.containerName()), first, by, t.cell(byHints), t.cell(byRelists),
		}, p.width())
	}
	if len(lines) == 0 {
		return nil
	}
	return p.lines(lines...)
}

func (p *compareTable) summary(_ time.Time, s compareSummary) error { return p.lines(s.lines()...) }

// verdict is who was first, and by how much.
func (t *transition) verdict() (first, by string) {
	switch {
	case t.missedBy(byHints):
		return "relists", ""
	case t.missedBy(byRelists):
		return "events", ""
	case t.ahead() > 0:
		return "events", shortTime(t.ahead())
	case t.ahead() < 0:
		return "relists", shortTime(-t.ahead())
	}
	return "both", ""
}

// cell is how late a side told, "" where that is not known.
func (t *transition) cell(s side) string {
	if t.missedBy(s) {
		return "missed"
	}
	if lag, ok := t.lagOf(s); ok {
		return shortTime(lag)
	}
	return ""
}

// compareLine is one line of `podctl pleg compare -o json`. Which fields are
// set depends on its type.
type compareLine struct {
	Time time.Time `json:"time"` // when it was decided
	Type string    `json:"type"` // transition, note or, at the end, summary

	Namespace string `json:"namespace,omitempty"` // of the pod
	Name      string `json:"name,omitempty"`      // of the pod
	UID       string `json:"uid,omitempty"`       // of the pod
	Event     string `json:"event,omitempty"`     // ContainerStarted, ContainerDied, ContainerRemoved
	Container string `json:"container,omitempty"` // its name; missing if it is about a sandbox
	ID        string `json:"id,omitempty"`        // of the container or sandbox

	Happened *time.Time `json:"happened,omitempty"` // when, where the runtime says so
	Hint     *time.Time `json:"hint,omitempty"`     // when the PLEG with hints told; missing if it never did
	Relist   *time.Time `json:"relist,omitempty"`   // when the PLEG with relists alone told; missing if it never did
	// by how much the hint was first; negative if the relist was
	AheadSeconds   *float64 `json:"aheadSeconds,omitempty"`
	MissedByHints  bool     `json:"missedByHints,omitempty"`  // no event told; hint is when the relist told by which that PLEG caught up
	MissedByRelist bool     `json:"missedByRelist,omitempty"` // it was over before a relist could see it

	Message string          `json:"message,omitempty"` // of a note
	Summary *compareSummary `json:"summary,omitempty"` // of a summary
}

// compareJSON is for programs.
type compareJSON struct{ out io.Writer }

func (p *compareJSON) begin() error { return nil }

func (p *compareJSON) transitions(now time.Time, list []*transition) error {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	for _, t := range list {
		if err := encoder.Encode(t.line(now)); err != nil {
			return err
		}
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

func (p *compareJSON) note(at time.Time, text string) error {
	return json.NewEncoder(p.out).Encode(compareLine{Time: at, Type: "note", Message: text})
}

func (p *compareJSON) summary(at time.Time, s compareSummary) error {
	return json.NewEncoder(p.out).Encode(compareLine{Time: at, Type: "summary", Summary: &s})
}

func (t *transition) line(now time.Time) compareLine {
	given := func(at time.Time) *time.Time {
		if at.IsZero() {
			return nil
		}
		return &at
	}
	l := compareLine{
		Time: now, Type: "transition", Namespace: t.Namespace, Name: t.Name, UID: string(t.PodUID),
		Event: string(t.Type), Container: t.Container, ID: t.ID,
		Happened: given(t.happened()), Hint: given(t.seen[byHints]), Relist: given(t.seen[byRelists]),
		MissedByHints: t.missedBy(byHints), MissedByRelist: t.missedBy(byRelists),
	}
	if t.both() {
		ahead := t.ahead().Seconds()
		l.AheadSeconds = &ahead
	}
	return l
}
