package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podsync"
)

// linePrinter prints one line per event, for what is no terminal.
type linePrinter struct {
	env *env
	// last is when each pod was last heard of, for how long a step took.
	last map[types.UID]time.Time
	mu   sync.Mutex
}

func newLinePrinter(e *env) *linePrinter {
	return &linePrinter{env: e, last: map[types.UID]time.Time{}}
}

func (p *linePrinter) note(text string) { p.print("%s\n", text) }

func (p *linePrinter) print(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.env.out, format, args...)
}

func (p *linePrinter) event(ev node.Event) {
	text := eventText(ev)
	if text == "" {
		return
	}
	if ev.UID == "" { // about the runtime
		p.print("%s  %s\n", clock(ev.Time), text)
		return
	}
	if before, ok := p.last[ev.UID]; ok && isStep(ev.Reason) {
		text += fmt.Sprintf(" (%s)", ev.Time.Sub(before).Round(time.Millisecond))
	}
	p.last[ev.UID] = ev.Time
	p.print("%s  %-20s  %-9s  %s\n", clock(ev.Time), pod.DisplayName(ev.Namespace, ev.Name), ev.Phase, text)
}

func (p *linePrinter) log(l logLine) {
	p.print("%s/%s | %s\n", pod.DisplayName(l.namespace, l.pod), l.container, l.text)
}

func (*linePrinter) refresh([]node.Info) {}

func (*linePrinter) finish([]node.Info) {}

func clock(t time.Time) string { return t.Format("15:04:05.000") }

// isStep tells which events end a step whose duration says something.
func isStep(reason string) bool {
	switch reason {
	case node.ReasonSandboxReady, podsync.EventStarted, podsync.EventPulled:
		return true
	}
	return false
}

// eventText is an event in a line; "" for one that says nothing which another
// does not say better.
func eventText(ev node.Event) string {
	switch ev.Reason {
	case podsync.EventCreated, node.ReasonRunning, node.ReasonRemoved:
		return ""
	case podsync.EventStarted:
		return ev.Container + " started"
	case podsync.EventPulled:
		if strings.Contains(ev.Message, "already present") {
			return ""
		}
	case node.ReasonEnded:
		// How its containers ended has been said, unless the pod has a reason
		// of its own.
		if !strings.Contains(ev.Message, ": ") {
			return ""
		}
	}
	text := ev.Message
	if ev.Container != "" && !strings.Contains(text, ev.Container) {
		text = ev.Container + ": " + text
	}
	if text == "" {
		return ev.Reason
	}
	return lowerFirst(text)
}

func lowerFirst(s string) string {
	// An acronym keeps its case.
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
