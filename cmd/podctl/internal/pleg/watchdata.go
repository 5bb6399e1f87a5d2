package pleg

import (
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/pod"
)

// WatchLine is one line of `podctl pleg watch -o json`. Which fields are set
// depends on the type.
type WatchLine struct {
	Time time.Time `json:"time"` // when podctl detected it
	Type string    `json:"type"` // event, note, or summary for the last line

	Namespace string `json:"namespace,omitempty"` // of the pod
	Name      string `json:"name,omitempty"`      // of the pod
	UID       string `json:"uid,omitempty"`       // of the pod
	// ContainerStarted, ContainerDied, ContainerRemoved (all about a container
	// or a sandbox) or PodSync
	Event     string `json:"event,omitempty"`
	Container string `json:"container,omitempty"` // container name; missing if the event is about a sandbox
	ID        string `json:"id,omitempty"`        // of the container or sandbox

	ExitCode *int32   `json:"exitCode,omitempty"` // of a container that died
	Reason   string   `json:"reason,omitempty"`   // reason of the exit as the runtime reports it
	Message  string   `json:"message,omitempty"`  // message of the exit, or text of a note
	Restarts int32    `json:"restarts,omitempty"` // of a container that started: number of restarts
	IPs      []string `json:"ips,omitempty"`      // of the pod

	Source     string     `json:"source,omitempty"`     // what triggered the detection: relist or hint
	Initial    bool       `json:"initial,omitempty"`    // existed before the watch began
	Happened   *time.Time `json:"happened,omitempty"`   // when it happened, if the runtime reports it
	LagSeconds *float64   `json:"lagSeconds,omitempty"` // seconds from happened to time; missing if initial, or if it happened after time: a clock was set back
	Merged     int        `json:"merged,omitempty"`     // of a PodSync: number of events merged into it because output was slow

	Summary *plegstat.WatchSummary `json:"summary,omitempty"` // the summary
}

// watchData prints one object per line.
type watchData struct{ stream *output.Stream }

func (p *watchData) begin([]*pod.Pod) error { return nil }

func (p *watchData) events(events []plegstat.Event) error {
	for _, ev := range events {
		if err := p.stream.Print(eventPod(ev), eventLine(ev)); err != nil {
			return err
		}
	}
	return nil
}

func (p *watchData) note(at time.Time, text string) error {
	return p.stream.Print("", WatchLine{Time: at, Type: "note", Message: text})
}

func (p *watchData) summary(at time.Time, s plegstat.WatchSummary) error {
	return p.stream.Print("", WatchLine{Time: at, Type: "summary", Summary: &s})
}

func eventLine(ev plegstat.Event) WatchLine {
	l := WatchLine{
		Time: ev.Received, Type: "event", Namespace: ev.Namespace, Name: ev.Name, UID: string(ev.PodUID),
		Event: string(ev.Type), Container: ev.Container, ID: ev.ID, Source: string(ev.Source), Initial: ev.Initial,
	}
	if ev.Coalesced > 0 {
		l.Merged = ev.Coalesced + 1
	}
	if ev.Status != nil {
		l.IPs = ev.Status.IPs
	}
	if c := ev.ContainerStatus(); c != nil {
		switch {
		case ev.Type == pleg.ContainerStarted:
			l.Restarts = c.RestartCount
		case ev.Type == pleg.ContainerDied && c.State == pod.Exited:
			l.ExitCode, l.Reason, l.Message = &c.ExitCode, c.Reason, c.Message
		}
	}
	if happened := ev.Happened(); !happened.IsZero() {
		l.Happened = &happened
	}
	if lag, ok := ev.Lag(); ok {
		late := lag.Seconds()
		l.LagSeconds = &late
	}
	return l
}
