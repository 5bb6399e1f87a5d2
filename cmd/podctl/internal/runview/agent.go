package runview

import (
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/desired/source"
	"github.com/podctl/podctl/internal/pod/event"
)

// AgentPrinter prints what an agent does: a line for each event, also on a
// terminal, because an agent is a service.
type AgentPrinter interface {
	// Note prints a line of podctl's own.
	Note(text string)
	Event(event.Event)
	// Notice prints a message about a manifest or its source.
	Notice(source.Notice)
}

// NewAgent returns the printer for the output that was asked for.
func NewAgent(s Screen, o Options) AgentPrinter {
	if !o.Format.IsTable() {
		return agentData{newDataPrinter(s, o)}
	}
	o.Ready = true
	return agentLines{newLinePrinter(s, o)}
}

// agentLines prints text.
type agentLines struct{ *linePrinter }

func (p agentLines) Note(text string) { p.print("%s  %s\n", output.Clock(p.screen.Now()), text) }

func (p agentLines) Notice(n source.Notice) {
	text := output.OneLine(n.Problem.String())
	if n.Problem.Hint != "" {
		text += " · " + output.OneLine(n.Problem.Hint)
	}
	if n.Level == source.Warning {
		text = "warning: " + text
	}
	p.Note(text)
}

// agentData prints objects.
type agentData struct{ *dataPrinter }

func (p agentData) Notice(n source.Notice) {
	p.print(RunLine{
		Type: "source", Reason: n.Level.String(), Warning: n.Level != source.Info, Message: n.Problem.String(),
	})
}
