package runview

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// linePrinter prints one line per event, for an output that is not a terminal.
type linePrinter struct {
	screen Screen
	// logs is the output of the containers' logs, unchanged unless it is a terminal.
	logs io.Writer
	// lastLine is as in Options.
	lastLine func(event.Event) string
	// ready: the run waits for ready pods, so readiness is worth a line.
	ready bool
	// pods has what was printed of each pod until it is removed.
	pods map[types.UID]podLines
	mu   sync.Mutex
}

// podLines is what linePrinter keeps of a pod.
type podLines struct {
	// last is the time of its last event: a step took the time since.
	last time.Time
	// text is its last line: the same warning is not printed twice in a row.
	text string
	// stopping: it was asked to stop, and has not stopped.
	stopping bool
}

func newLinePrinter(s Screen, o Options) *linePrinter {
	return &linePrinter{screen: s, logs: output.Raw(s.Out), ready: o.Ready, lastLine: o.LastLine, pods: map[types.UID]podLines{}}
}

func (p *linePrinter) Note(text string) { p.print("%s\n", text) }

func (p *linePrinter) print(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.screen.Out, format, args...)
}

func (p *linePrinter) Event(ev event.Event) {
	known, heard := p.pods[ev.UID]
	before := known.last
	text := output.OneLine(pod.ErrorText(p.text(ev, known.stopping)))
	known.last = ev.Time
	switch ev.Reason {
	case event.Terminating:
		known.stopping = true
	case event.Starting, event.Stopped:
		known.stopping = false
	}
	printed := text != "" && (text != known.text || !ev.Warning)
	if printed {
		known.text = text
	}
	p.pods[ev.UID] = known
	if ev.Reason == event.Removed {
		delete(p.pods, ev.UID)
	}
	if !printed {
		return
	}
	if heard && isStep(ev.Reason) {
		text += fmt.Sprintf(" (%s)", ev.Time.Sub(before).Round(time.Millisecond))
	}
	if ev.Kind != "" {
		p.print("%s  %-20s  %-9s  %s\n", output.Clock(ev.Time), pod.DisplayName(ev.Namespace, ev.Name), ev.Kind, text)
		return
	}
	if ev.UID == "" { // about the runtime
		p.print("%s  %s\n", output.Clock(ev.Time), text)
		return
	}
	p.print("%s  %-20s  %-9s  %s\n", output.Clock(ev.Time), pod.DisplayName(ev.Namespace, ev.Name), ev.Phase, text)
}

// text returns the event's line after the phase, "" for an event that another one makes
// redundant. stopping: the pod was asked to stop before.
func (p *linePrinter) text(ev event.Event, stopping bool) string {
	switch ev.Reason {
	case event.Starting, event.Created, event.Running, event.Removed,
		event.DeadlineExceeded: // the pod's end says it
		return ""
	case event.Ready:
		if !p.ready {
			return ""
		}
	case event.Stopped:
		if !stopping {
			return ""
		}
	case event.Started:
		return ev.Container + " started"
	case event.Pulled:
		if ev.Image != nil && ev.Image.Present {
			return ""
		}
	case event.Exited:
		return p.exitText(ev)
	case event.Ended:
		if ev.End == nil { // how its containers ended has been said
			return ""
		}
	}
	if ev.Waiting != nil {
		return waitingLine(ev)
	}
	text := ev.Text()
	if ev.Warning && !saysAll(ev.Reason) {
		text = ev.Reason + ": " + lowerFirst(text)
	}
	if ev.Container != "" && !namesContainer(ev.Reason) {
		return ev.Container + ": " + text
	}
	return lowerFirst(text)
}

// exitText adds to the end of a container that failed what it wrote last,
// unless it left a termination message.
func (p *linePrinter) exitText(ev event.Event) string {
	text := ev.Text()
	if ev.Warning && ev.Exit != nil && ev.Exit.Message == "" {
		if words := output.Printable(p.lastLine(ev)); words != "" {
			text += fmt.Sprintf(": %q", words)
		}
	}
	return text
}

// waitingLine returns why a container waits: the kubelet's reason and the details; "" if an
// earlier event has said it.
func waitingLine(ev event.Event) string {
	var text string
	switch {
	case ev.Waiting.Crash != nil:
		crash := ev.Waiting.Crash
		backOff := time.Duration(crash.BackOffSeconds * float64(time.Second))
		text = fmt.Sprintf("back-off %s restarting failed container, last exit %d", backOff, crash.ExitCode)
	case ev.Reason != event.Failed:
		text = ev.Text()
	case ev.Waiting.Message == "":
		return ""
	case ev.Image != nil:
		text = fmt.Sprintf("failed to pull image %q: %s", ev.Image.Name, ev.Waiting.Message)
	default:
		text = ev.Waiting.Message
	}
	text = ev.Waiting.Reason + ": " + lowerFirst(text)
	if ev.Container != "" {
		text = ev.Container + ": " + text
	}
	return text
}

// saysAll reports whether a warning's text needs no reason before it.
func saysAll(reason string) bool {
	switch reason {
	case event.Failed, event.Ended, event.Waiting, event.RuntimeDown:
		return true
	}
	return false
}

// namesContainer reports whether the event's text has the container's name.
func namesContainer(reason string) bool { return reason == event.Killing }

func (p *linePrinter) Log(l LogLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.logs, "%s/%s | %s\n", pod.DisplayName(l.Namespace, l.Pod), l.Container, l.Text)
}

func (*linePrinter) Refresh([]node.Info) {}

func (*linePrinter) Finish([]node.Info) {}

// isStep reports whether the event ends a step whose duration is of interest.
func isStep(reason string) bool {
	switch reason {
	case event.SandboxReady, event.Started: // EventPulled says it itself
		return true
	}
	return false
}

func lowerFirst(s string) string {
	// Acronyms and names of functions keep their case.
	word, _, _ := strings.Cut(s, " ")
	if len(word) > 0 && strings.ContainsFunc(word[1:], unicode.IsUpper) {
		return s
	}
	if len(word) > 1 && word[0] >= 'A' && word[0] <= 'Z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
