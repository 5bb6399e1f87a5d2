package sim

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// EventMode is how GetContainerEvents behaves.
type EventMode uint8

const (
	// EventsBroadcast is containerd 2: every subscriber hears every event; the
	// first one what no stream received in the last five minutes, too.
	EventsBroadcast EventMode = iota
	// EventsSharedQueue is containerd 1.7: subscribers share one queue.
	EventsSharedQueue
	// EventsUnimplemented is containerd 1.6.
	EventsUnimplemented
	// EventsEOF is CRI-O with events switched off: the stream ends at once.
	EventsEOF
)

// backlogAge is how long an event waits for the first subscriber.
const backlogAge = 5 * time.Minute

type eventState struct {
	mode        EventMode
	subscribers []*subscriber
	turn        int // of EventsSharedQueue
	backlog     []*runtimeapi.ContainerEventResponse
}

// SetEvents changes the mode and ends all subscriptions.
func (r *Runtime) SetEvents(m EventMode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events.mode = m
	for _, s := range r.events.subscribers {
		s.close()
	}
	r.events.subscribers = nil
}

// GetContainerEvents streams events until the caller, or Crash, ends it.
func (r *Runtime) GetContainerEvents(_ *runtimeapi.GetEventsRequest, stream runtimeapi.RuntimeService_GetContainerEventsServer) error {
	s, err := r.subscribe()
	if err != nil || s == nil {
		return err
	}
	defer r.unsubscribe(s)
	for {
		ev, ok := s.next()
		if !ok {
			select {
			case <-s.more:
				continue
			case <-s.closed:
				return nil
			case <-stream.Context().Done():
				return stream.Context().Err()
			}
		}
		if err := stream.Send(ev); err != nil {
			return err
		}
	}
}

// subscribe answers nil, nil where the stream should end at once.
func (r *Runtime) subscribe() (*subscriber, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.events.mode {
	case EventsUnimplemented:
		return nil, errorf(codes.Unimplemented, "method GetContainerEvents not implemented")
	case EventsEOF:
		return nil, nil
	case EventsBroadcast, EventsSharedQueue:
	}
	s := &subscriber{more: make(chan struct{}, 1), closed: make(chan struct{})}
	r.events.subscribers = append(r.events.subscribers, s)
	oldest := r.opts.Clock().Add(-backlogAge).UnixNano()
	for _, ev := range r.events.backlog {
		if ev.CreatedAt >= oldest {
			s.put(ev)
		}
	}
	r.events.backlog = nil
	return s, nil
}

func (r *Runtime) unsubscribe(s *subscriber) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, other := range r.events.subscribers {
		if other == s {
			r.events.subscribers = append(r.events.subscribers[:i:i], r.events.subscribers[i+1:]...)
		}
	}
}

// emit sends an event about a container, or a sandbox itself. r.mu is held.
func (r *Runtime) emit(id string, sb *sandbox, typ runtimeapi.ContainerEventType) {
	e := &r.events
	if e.mode == EventsUnimplemented || e.mode == EventsEOF {
		return
	}
	ev := &runtimeapi.ContainerEventResponse{
		ContainerId: id, ContainerEventType: typ, CreatedAt: r.stamp(),
		ContainersStatuses: r.statusesIn(sb),
	}
	if _, ok := r.sandboxes[sb.id]; ok {
		ev.PodSandboxStatus = sb.status()
	}
	switch {
	case len(e.subscribers) == 0:
		oldest := ev.CreatedAt - int64(backlogAge)
		for len(e.backlog) > 0 && e.backlog[0].CreatedAt < oldest {
			e.backlog = e.backlog[1:]
		}
		e.backlog = append(e.backlog, ev)
	case e.mode == EventsSharedQueue:
		e.turn++
		e.subscribers[e.turn%len(e.subscribers)].put(ev)
	default:
		for _, s := range e.subscribers {
			s.put(ev)
		}
	}
}

// queueLimit is how many events wait for a subscriber. One that does not read them
// is ended by the next.
const queueLimit = 1 << 16

// subscriber is a queue of events.
type subscriber struct {
	more   chan struct{}
	closed chan struct{}

	mu    sync.Mutex
	queue []*runtimeapi.ContainerEventResponse
	ended bool // closed is closed
}

func (s *subscriber) put(ev *runtimeapi.ContainerEventResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == queueLimit {
		s.end()
		return
	}
	s.queue = append(s.queue, ev)
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *subscriber) next() (*runtimeapi.ContainerEventResponse, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, false
	}
	ev := s.queue[0]
	s.queue = s.queue[1:]
	return ev, true
}

func (s *subscriber) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// end ends the subscription. s.mu is held.
func (s *subscriber) end() {
	if !s.ended {
		s.ended = true
		close(s.closed)
	}
}
