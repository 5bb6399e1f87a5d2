package runview

import (
	"io"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri/pulls"
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
	// Pulls returns the pulls in flight of the runtime; nil if they are not shown.
	Pulls func() ([]pulls.Pull, error)
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
		return newLivePrinter(s, o)
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
