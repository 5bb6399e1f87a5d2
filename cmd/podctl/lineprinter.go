package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podsync"
)

// linePrinter prints one line per event, for what is no terminal.
type linePrinter struct {
	env *env
	// lastWords is the last line that a container wrote, "" if none.
	lastWords func(node.Event) string
	// ready: the run waits for ready pods, so readiness is worth a line.
	ready bool
	// last is when each pod was last heard of, for how long a step took.
	last map[types.UID]time.Time
	// said is what each pod's last line said: nothing is said twice in a row.
	said map[types.UID]string
	// stopping are the pods that were asked to stop.
	stopping map[types.UID]bool
	mu       sync.Mutex
}

func newLinePrinter(e *env, ready bool, lastWords func(node.Event) string) *linePrinter {
	return &linePrinter{env: e, ready: ready, lastWords: lastWords, last: map[types.UID]time.Time{}, said: map[types.UID]string{}, stopping: map[types.UID]bool{}}
}

func (p *linePrinter) note(text string) { p.print("%s\n", text) }

func (p *linePrinter) print(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.env.out, format, args...)
}

func (p *linePrinter) event(ev node.Event) {
	before, heard := p.last[ev.UID]
	p.last[ev.UID] = ev.Time
	if ev.Reason == node.ReasonTerminating {
		p.stopping[ev.UID] = true
	}
	text := output.OneLine(p.text(ev))
	if text == "" || text == p.said[ev.UID] && ev.Warning {
		return
	}
	p.said[ev.UID] = text
	if heard && isStep(ev.Reason) {
		text += fmt.Sprintf(" (%s)", ev.Time.Sub(before).Round(time.Millisecond))
	}
	if ev.UID == "" { // about the runtime
		p.print("%s  %s\n", output.Clock(ev.Time), text)
		return
	}
	p.print("%s  %-20s  %-9s  %s\n", output.Clock(ev.Time), pod.DisplayName(ev.Namespace, ev.Name), ev.Phase, text)
}

// text is an event in a line; "" for one that says nothing which another does
// not say better.
func (p *linePrinter) text(ev node.Event) string {
	switch ev.Reason {
	case node.ReasonStarting, podsync.EventCreated, node.ReasonRunning, node.ReasonRemoved,
		podsync.EventDeadlineExceeded: // the pod's end says it
		return ""
	case node.ReasonReady:
		if !p.ready {
			return ""
		}
	case node.ReasonStopped:
		if !p.stopping[ev.UID] {
			return ""
		}
	case podsync.EventStarted:
		return ev.Container + " started"
	case podsync.EventPulled:
		if strings.Contains(ev.Message, "already present") {
			return ""
		}
	case podsync.EventFailed:
		// The event before says why, in more than a word.
		if word, ok := strings.CutPrefix(ev.Message, "Error: "); ok && !strings.Contains(word, " ") {
			return ""
		}
	case node.ReasonExited:
		if words := p.lastWords(ev); ev.Warning && words != "" && !strings.Contains(ev.Message, `: "`) {
			return fmt.Sprintf("%s: %q", ev.Message, words)
		}
	case node.ReasonEnded:
		// How its containers ended has been said, unless the pod has a reason
		// of its own.
		if !strings.Contains(ev.Message, ": ") {
			return ""
		}
	}
	text := ev.Message
	if reason := waitingReason(ev); reason != "" {
		text = reason + ": " + lowerFirst(strings.TrimPrefix(text, "Error: "))
		if ev.Container != "" {
			text = ev.Container + ": " + text
		}
		return text
	}
	if ev.Container != "" && !strings.Contains(text, ev.Container) {
		text = ev.Container + ": " + text
	}
	return lowerFirst(text)
}

// waitingReason is the kubelet's word for what keeps the pod or the container
// from going on, "" for an event about something else.
func waitingReason(ev node.Event) string {
	switch {
	case ev.State != "" || !ev.Warning:
		return ev.State
	case ev.Reason == podsync.EventFailed, ev.Reason == node.ReasonExited, ev.Reason == node.ReasonEnded, ev.Reason == node.ReasonWaiting,
		ev.Reason == node.ReasonRuntimeDown:
		return ""
	}
	return ev.Reason
}

func (p *linePrinter) log(l logLine) {
	p.print("%s/%s | %s\n", pod.DisplayName(l.namespace, l.pod), l.container, l.text)
}

func (*linePrinter) refresh([]node.Info) {}

func (*linePrinter) finish([]node.Info) {}

// isStep tells which events end a step whose duration says something.
func isStep(reason string) bool {
	switch reason {
	case podsync.EventSandboxReady, podsync.EventStarted: // EventPulled says it itself
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
