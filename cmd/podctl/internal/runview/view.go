package runview

import (
	"io"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/desired/source"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod/event"
)

// Screen is where a run is shown.
type Screen struct {
	Out, Errw io.Writer
	// ErrTTY: Errw is a terminal.
	ErrTTY bool
	// TTY: Out is a terminal, so that output may move the cursor; Color: it may be
	// colored.
	TTY, Color bool
	// Size returns the terminal's size in columns and lines, 0 if unknown.
	Size func() (width, height int)
	Now  func() time.Time
}

// Options say what is shown.
type Options struct {
	// Format is that of a table for text.
	Format output.Format
	// Ready: the run waits for ready pods, so that readiness is shown.
	Ready bool
	// NodeName is the node's, for pods in YAML.
	NodeName string
	// LastLine returns the last line that the container of an event wrote, "" if
	// it wrote none.
	LastLine func(event.Event) string
}

// Printer shows a run. Its methods are called by one goroutine, but for Log,
// which is safe for concurrent use.
type Printer interface {
	// Note prints a line of podctl's own.
	Note(text string)
	Event(event.Event)
	// Log prints a line that a container wrote.
	Log(l LogLine)
	// Refresh shows the pods as they are now.
	Refresh([]node.Info)
	// Finish shows how they ended.
	Finish([]node.Info)
}

// New returns the printer for the output that was asked for.
func New(s Screen, o Options) Printer {
	switch {
	case o.Format.Name() == "yaml":
		return newYAMLPrinter(s, o)
	case !o.Format.IsTable():
		return newDataPrinter(s, o)
	case s.TTY:
		return newLivePrinter(s)
	default:
		return newLinePrinter(s, o)
	}
}

// LogLine is one line of a container's output.
type LogLine struct {
	Namespace, Pod, Container string
	Stream                    string
	Text                      []byte
}

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
