package main

import (
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/source"
)

// agentPrinter prints what an agent does: a line for each event, also on a
// terminal, because an agent is a service.
type agentPrinter interface {
	note(text string)
	event(event.Event)
	notice(source.Notice)
}

func newAgentPrinter(e *env, o agentOptions, lastWords func(event.Event) string) agentPrinter {
	if o.output == "json" {
		return agentJSON{&jsonPrinter{env: e}}
	}
	return agentLines{newLinePrinter(e, true, lastWords)}
}

// agentLines prints text.
type agentLines struct{ *linePrinter }

func (p agentLines) note(text string) { p.print("%s  %s\n", output.Clock(p.env.now()), text) }

func (p agentLines) notice(n source.Notice) {
	text := output.OneLine(n.Problem.String())
	if n.Problem.Hint != "" {
		text += " · " + output.OneLine(n.Problem.Hint)
	}
	if n.Level == source.Warning {
		text = "warning: " + text
	}
	p.note(text)
}

// agentJSON prints objects.
type agentJSON struct{ *jsonPrinter }

func (p agentJSON) notice(n source.Notice) {
	p.print(runLine{
		Type: "source", Reason: n.Level.String(), Warning: n.Level != source.Info, Message: n.Problem.String(),
	})
}
