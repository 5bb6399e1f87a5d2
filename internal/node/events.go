package node

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod/event"
)

// eventSender completes events and hands them to Options.Events, one after the other.
type eventSender struct {
	pods *podTable
	// mu serializes the calls of sink.
	mu   sync.Mutex
	sink func(event.Event)
}

// send sends an event of the pod.
func (s *eventSender) send(p *v1.Pod, ev event.Event) {
	ev.UID, ev.Namespace, ev.Name = p.UID, p.Namespace, p.Name
	if ev.Phase == "" {
		ev.Phase = s.pods.phaseOf(p.UID)
	}
	s.sendRuntime(ev)
}

// sendRuntime sends an event that concerns no pod.
func (s *eventSender) sendRuntime(ev event.Event) {
	ev.Time = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink != nil {
		s.sink(ev)
	}
}

// Report sends an event of one of the node's pods. It is safe for concurrent use.
func (n *Node) Report(p *v1.Pod, ev event.Event) { n.events.send(p, n.sync.Masked(p, ev)) }
