package bare

import (
	"context"
	"fmt"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PollEvery is how often a runtime without events is asked for an exit.
const PollEvery = 10 * time.Millisecond

// Exits reports when containers end. It owns one goroutine, which ends with the
// context given to Watch.
type Exits struct {
	client *Client
	polls  chan struct{} // closed when the runtime has no events

	mu      sync.Mutex
	stopped map[string]bool
	waiting map[string]chan struct{}
}

// Watch opens the event stream, before the first pod is started so that no
// exit is missed, and reports a runtime that has none by polling later.
func (c *Client) Watch(ctx context.Context) *Exits {
	e := &Exits{client: c, polls: make(chan struct{}), stopped: map[string]bool{}, waiting: map[string]chan struct{}{}}
	events, err := c.Subscribe(ctx)
	if err != nil {
		close(e.polls)
		return e
	}
	go e.follow(events)
	return e
}

// Subscribe opens the event stream and returns once the runtime has the subscription.
// A runtime without events says so when the stream is read.
func (c *Client) Subscribe(ctx context.Context) (runtimeapi.RuntimeService_GetContainerEventsClient, error) {
	events, err := c.Runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return nil, err
	}
	// A server sends nothing when it accepts a stream, but it reads one connection
	// in order: by its answer to this it has the subscription.
	_, err = c.Runtime.Version(ctx, &runtimeapi.VersionRequest{})
	return events, err
}

// follow notes exits until the stream ends: in a runtime without events with an
// error, at any time.
func (e *Exits) follow(events runtimeapi.RuntimeService_GetContainerEventsClient) {
	defer close(e.polls)
	for {
		event, err := events.Recv()
		if err != nil {
			return
		}
		if event.ContainerEventType == runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT {
			e.note(event.ContainerId)
		}
	}
}

func (e *Exits) note(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ch := e.waiting[id]; ch != nil {
		close(ch)
		delete(e.waiting, id)
		return
	}
	e.stopped[id] = true
}

// Wait returns when the pod's container has ended. Once per pod.
func (e *Exits) Wait(ctx context.Context, p *Pod) error {
	e.mu.Lock()
	if e.stopped[p.ContainerID] {
		e.mu.Unlock()
		return nil
	}
	ch := make(chan struct{})
	e.waiting[p.ContainerID] = ch
	e.mu.Unlock()
	select {
	case <-ch:
		return nil
	case <-e.polls:
		return e.poll(ctx, p)
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", p.Name, ctx.Err())
	}
}

func (e *Exits) poll(ctx context.Context, p *Pod) error {
	for {
		status, err := e.client.Status(ctx, p)
		if err != nil {
			return fmt.Errorf("wait for %s: %w", p.Name, err)
		}
		if status.State == runtimeapi.ContainerState_CONTAINER_EXITED {
			return nil
		}
		select {
		case <-time.After(PollEvery):
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", p.Name, ctx.Err())
		}
	}
}
