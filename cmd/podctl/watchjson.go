package main

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// watchLine is one line of `podctl pleg watch -o json`. Which fields are set
// depends on its type.
type watchLine struct {
	Time time.Time `json:"time"` // when podctl knew
	Type string    `json:"type"` // event, note or, at the end, summary

	Namespace string `json:"namespace,omitempty"` // of the pod
	Name      string `json:"name,omitempty"`      // of the pod
	UID       string `json:"uid,omitempty"`       // of the pod
	// ContainerStarted, ContainerDied, ContainerRemoved, PodSync; the first
	// three are about a container or a sandbox
	Event     string `json:"event,omitempty"`
	Container string `json:"container,omitempty"` // its name; missing if it is about a sandbox
	ID        string `json:"id,omitempty"`        // of the container or sandbox

	ExitCode *int32   `json:"exitCode,omitempty"` // of a container that died
	Reason   string   `json:"reason,omitempty"`   // of its end: the runtime's word
	Message  string   `json:"message,omitempty"`  // of its end; of a note its text
	Restarts int32    `json:"restarts,omitempty"` // of a container that started, how often it had before
	IPs      []string `json:"ips,omitempty"`      // of the pod

	Source     string     `json:"source,omitempty"`     // what made podctl look: relist or hint
	Initial    bool       `json:"initial,omitempty"`    // it was so before podctl watched
	Happened   *time.Time `json:"happened,omitempty"`   // when, where the runtime says so
	LagSeconds *float64   `json:"lagSeconds,omitempty"` // from then to time, in seconds; not of what is initial
	Merged     int        `json:"merged,omitempty"`     // of a PodSync: how many events it stands for, if output was slow

	Summary *watchSummary `json:"summary,omitempty"` // of a summary
}

// watchJSON is for programs.
type watchJSON struct{ out io.Writer }

func (p *watchJSON) begin([]*pod.Pod) error { return nil }

func (p *watchJSON) events(events []seenEvent) error {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	for _, ev := range events {
		if err := encoder.Encode(eventLine(ev)); err != nil {
			return err
		}
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

func (p *watchJSON) note(at time.Time, text string) error {
	return json.NewEncoder(p.out).Encode(watchLine{Time: at, Type: "note", Message: text})
}

func (p *watchJSON) summary(at time.Time, s watchSummary) error {
	return json.NewEncoder(p.out).Encode(watchLine{Time: at, Type: "summary", Summary: &s})
}

func eventLine(ev seenEvent) watchLine {
	l := watchLine{
		Time: ev.at, Type: "event", Namespace: ev.Namespace, Name: ev.Name, UID: string(ev.PodUID),
		Event: string(ev.Type), Container: ev.Container, ID: ev.ID, Source: string(ev.Source), Initial: ev.Initial,
	}
	if ev.Coalesced > 0 {
		l.Merged = ev.Coalesced + 1
	}
	if ev.Status != nil {
		l.IPs = ev.Status.IPs
	}
	if c := ev.container(); c != nil {
		switch {
		case ev.Type == pleg.ContainerStarted:
			l.Restarts = c.RestartCount
		case ev.Type == pleg.ContainerDied && c.State == pod.Exited:
			l.ExitCode, l.Reason, l.Message = &c.ExitCode, c.Reason, c.Message
		}
	}
	if happened := ev.happened(); !happened.IsZero() {
		l.Happened = &happened
	}
	if lag, ok := ev.lag(); ok {
		late := lag.Seconds()
		l.LagSeconds = &late
	}
	return l
}
