package conform

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// stateRecorder records the states that the runtime's events report, by container id.
type stateRecorder struct {
	// hasEvents reports whether the runtime has events for podctl.
	hasEvents bool

	mu   sync.Mutex
	byID map[string][]string
}

// watchStates subscribes to the events of a runtime that gives them to everybody, until ctx
// ends.
func watchStates(ctx context.Context, client *cri.Client) *stateRecorder {
	s := &stateRecorder{byID: map[string][]string{}}
	if !client.Connected().BroadcastsEvents() {
		return s
	}
	opened, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = client.Hints(ctx, func() { close(opened) }, s.handleHint) // without events there are none
	}()
	select {
	case <-opened:
		// A runtime whose events are disabled ends the stream at once.
		select {
		case <-ended:
		case <-time.After(time.Second):
			s.hasEvents = true
		}
	case <-ended:
	}
	return s
}

func (s *stateRecorder) handleHint(h pod.Hint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := strings.ToLower(h.State.String())
	if h.Deleted {
		state = "deleted"
	}
	s.byID[h.ID] = append(s.byID[h.ID], state)
}

// eventTimeout bounds the wait for the event that a container was deleted.
const eventTimeout = 2 * time.Second

// statesOf returns the states of a container that is gone, nil without events.
func (s *stateRecorder) statesOf(id string) []string {
	if !s.hasEvents {
		return nil
	}
	for until := time.Now().Add(eventTimeout); ; time.Sleep(eventTimeout / 20) {
		s.mu.Lock()
		got := slices.Clone(s.byID[id])
		s.mu.Unlock()
		if slices.Contains(got, "deleted") || time.Now().After(until) {
			return append([]string{}, got...)
		}
	}
}
