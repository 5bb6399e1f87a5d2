package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// PollEvery is how often a runtime without events is asked which containers run.
const PollEvery = 10 * time.Millisecond

// Exits records when containers exit. It owns a goroutine, which ends with the context of
// WatchExits.
type Exits struct {
	// Polled: the runtime has no events, or gives each to one subscriber only, who may be
	// another one.
	Polled bool

	mu      sync.Mutex
	seen    map[string]time.Time
	waiting map[string]chan struct{}
}

// WatchExits subscribes to the runtime's events, and returns once it has the subscription:
// exits of containers that are started later are not missed.
func WatchExits(ctx context.Context, client *cri.Client) *Exits {
	e := &Exits{seen: map[string]time.Time{}, waiting: map[string]chan struct{}{}}
	opened, ended := make(chan struct{}), make(chan struct{})
	if client.Connected().BroadcastsEvents() {
		go func() {
			defer close(ended)
			_ = client.Notices(ctx, func() { close(opened) }, e.handleHint) // without events they are polled
		}()
		select {
		case <-opened:
		case <-ended:
			e.Polled = true
		}
	} else {
		e.Polled = true
		close(ended)
	}
	go func() {
		<-ended
		e.poll(ctx, client)
	}()
	return e
}

func (e *Exits) handleHint(h pod.Notice) {
	if h.State == pod.Exited {
		e.recordExit(h.ID, time.Now())
	}
}

func (e *Exits) recordExit(id string, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.seen[id]; known {
		return
	}
	e.seen[id] = at
	if ch := e.waiting[id]; ch != nil {
		close(ch)
		delete(e.waiting, id)
	}
}

// poll lists the containers while someone waits for one.
func (e *Exits) poll(ctx context.Context, client *cri.Client) {
	ticks := time.NewTicker(PollEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		e.mu.Lock()
		idle := len(e.waiting) == 0
		e.mu.Unlock()
		if idle {
			continue
		}
		pods, err := client.ListPods(ctx)
		if err != nil {
			continue // the next one may be answered
		}
		now := time.Now()
		for _, p := range pods {
			for _, c := range p.Containers {
				if c.State == pod.Exited {
					e.recordExit(c.ID, now)
				}
			}
		}
	}
}

// Wait returns the time at which the exit of a container was observed. The error is that of ctx.
// It may be called once for each container.
func (e *Exits) Wait(ctx context.Context, id string) (time.Time, error) {
	e.mu.Lock()
	_, known := e.seen[id]
	ch := make(chan struct{})
	if known {
		close(ch)
	} else {
		e.waiting[id] = ch
	}
	e.mu.Unlock()
	select {
	case <-ch:
		e.mu.Lock()
		defer e.mu.Unlock()
		at := e.seen[id]
		delete(e.seen, id)
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("wait for the exit of %s: %w", pod.ShortID(id), ctx.Err())
	}
}

// ExitLag waits for the exit of the pod's container, and returns the time from the runtime's
// FinishedAt until the exit was observed, 0 if the runtime's clock is ahead.
func (b *PodMaker) ExitLag(ctx context.Context, exits *Exits, p *Pod) (time.Duration, error) {
	seen, err := exits.Wait(ctx, p.ContainerID)
	if err != nil {
		return 0, err
	}
	status, err := b.Client.ContainerStatus(ctx, p.ContainerID)
	if err != nil {
		return 0, err
	}
	if status.State != pod.Exited {
		return 0, fmt.Errorf("container %s of %s did not end", pod.ShortID(p.ContainerID), p.Name)
	}
	return max(0, seen.Sub(status.FinishedAt)), nil
}
