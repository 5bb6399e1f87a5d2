package main

import (
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/node"
)

// runPrinter shows a run. Its methods are called from one goroutine, but for
// log, which may be called from any.
type runPrinter interface {
	// note is a line of podctl's own.
	note(text string)
	event(event.Event)
	// log is a line that a container wrote.
	log(l logLine)
	// refresh shows the pods as they are now.
	refresh([]node.Info)
	// finish shows how they ended.
	finish([]node.Info)
}

// newRunPrinter is the printer for the output that was asked for.
func newRunPrinter(e *env, o runOptions, s *daemon.Session) runPrinter {
	switch {
	case o.output == "json":
		return &jsonPrinter{env: e}
	case o.output == "yaml":
		return newYAMLPrinter(e, o, s.Facts.Name, lastWords(s))
	case e.tty:
		return &livePrinter{env: e, activity: activities{}, color: !o.noColor && !e.noColor}
	default:
		return newLinePrinter(e, o.wait == waitReady, lastWords(s))
	}
}

// logLine is one line of a container's output.
type logLine struct {
	namespace, pod, container string
	stream                    string
	text                      []byte
}

// lastWords is the last line that the container of an event wrote, "" if it
// wrote none.
func lastWords(s *daemon.Session) func(event.Event) string {
	return func(ev event.Event) string { return output.Printable(s.LastLine(ev)) }
}
