package startgate

import (
	"context"
	"runtime"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Options of a Gate. The zero value of each is its default.
type Options struct {
	// First is how many pods may start at once when none has started yet, Most
	// how many at any time. 0: the number of CPUs, at least 2; four for each CPU, at
	// least 8.
	First, Most int
	// HungAfter is how long a turn may last before it counts as hung. 0: 5 s.
	HungAfter time.Duration
}

// Defaults returns the options with the defaults of those that are zero.
func (o Options) Defaults() Options {
	if o.First == 0 {
		o.First = max(2, runtime.NumCPU())
	}
	if o.Most == 0 {
		o.Most = max(8, 4*runtime.NumCPU())
	}
	if o.HungAfter == 0 {
		o.HungAfter = 5 * time.Second
	}
	return o
}

// Gate orders the starts of pods. It is safe for concurrent use.
type Gate struct {
	mu    sync.Mutex
	queue *queue
	// turns are closed when their pod may start.
	turns map[types.UID]chan struct{}
	// timer looks at the queue again; nil if nothing is due.
	timer *time.Timer
}

// New returns a Gate without pods.
func New(o Options) *Gate {
	return &Gate{queue: newQueue(o.Defaults()), turns: map[types.UID]chan struct{}{}}
}

// Expect reserves a place for a pod that is about to enter: pods start in the order in
// which they are expected, whichever enters first. A pod that does not enter delays
// others for a second at most.
func (g *Gate) Expect(p *v1.Pod) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue.expect(p.UID, pod.Priority(p), time.Now())
}

// Enter waits until the pod may start, or until ctx ends. leave ends its turn and
// may be called again. A pod has one turn at a time.
func (g *Gate) Enter(ctx context.Context, p *v1.Pod) (leave func(), err error) {
	turn := make(chan struct{})
	g.mu.Lock()
	g.turns[p.UID] = turn
	g.queue.enter(p.UID, pod.Priority(p), time.Now())
	g.admit()
	g.mu.Unlock()
	leave = sync.OnceFunc(func() { g.endTurn(p.UID, turn) })
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// Forget drops a pod that is gone or does not start now.
func (g *Gate) Forget(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.turns, uid)
	g.queue.forget(uid)
	g.admit()
}

// endTurn ends a turn, or the wait for it.
func (g *Gate) endTurn(uid types.UID, turn chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.turns[uid] != turn {
		return // forgotten
	}
	delete(g.turns, uid)
	g.queue.endTurn(uid)
	g.admit()
}

// admit admits the pods that may start now. g.mu is held.
func (g *Gate) admit() {
	now := time.Now()
	turns, again := g.queue.takeTurns(now)
	for _, uid := range turns {
		close(g.turns[uid])
	}
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	if !again.IsZero() {
		g.timer = time.AfterFunc(again.Sub(now), func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.admit()
		})
	}
}
