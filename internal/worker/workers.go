package worker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Options are what Workers need. Only Ops must be set.
type Options struct {
	Ops Ops
	// Log gets one line per phase change and per failed operation. Nil drops
	// them.
	Log *slog.Logger
	// Observer is told of phase changes and operations. Nil drops them.
	Observer Observer
	// Jitter draws from [0, 1): every wake-up is stretched by up to half. Nil
	// draws at random.
	Jitter func() float64
	// WakeOnRelease starts a pod that waits for its name as soon as the name
	// is free. False, as in the kubelet: at the end of its back-off.
	WakeOnRelease bool
}

// Workers drives every pod of a node through its phases (podWorkers in
// pkg/kubelet/pod_workers.go). Its methods are safe for concurrent use, also
// from Ops and Observer, and do not block: each event is applied to the
// pod's state before the call returns, so that a query made after it sees it.
type Workers struct {
	opts Options
	// base ends with Close; every operation's context descends from it.
	base          context.Context
	stopBase      context.CancelFunc
	running       sync.WaitGroup
	notifications notifications

	// mu guards all below, among it every pod's state.
	mu         sync.Mutex
	pods       map[types.UID]*podWorker
	names      Names
	waiters    map[WaiterID]chan<- struct{}
	lastWaiter WaiterID
	synced     bool
	closed     bool
}

// New returns Workers that know no pod and have not synced yet.
func New(opts Options) *Workers {
	if opts.Jitter == nil {
		opts.Jitter = rand.Float64
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	w := &Workers{opts: opts, pods: map[types.UID]*podWorker{}, waiters: map[WaiterID]chan<- struct{}{}}
	w.notifications.log, w.notifications.observer = opts.Log, opts.Observer
	w.base, w.stopBase = context.WithCancel(context.Background())
	return w
}

// Adopt adds a pod that an earlier podctl left in the runtime. It must be the
// first event of the pod, and an Update or Kill should follow.
func (w *Workers) Adopt(p *v1.Pod, exclusive bool) {
	w.apply(p.UID, Adopt{Pod: p, Exclusive: exclusive})
}

// Update brings a spec, new or not.
func (w *Workers) Update(u Update) { w.apply(u.Pod.UID, u) }

// KillOptions say how a pod is to be stopped. The zero value stops it with its
// own grace.
type KillOptions struct {
	// Grace in seconds, if that is shorter; nil is the pod's own.
	Grace *int64
	// Evict makes it an eviction.
	Evict bool
	// RuntimeEmpty is as in Update.
	RuntimeEmpty bool
	// Status overrides the pod's status at its end, unless it is zero.
	Status StatusOverride
	// Done, unless nil, is closed once no container of the pod runs or can be
	// started any more, at once if that is so already. It stays open if Close
	// comes first.
	Done chan<- struct{}
}

// Kill stops a pod, for good unless the same UID is created again. It brings
// the spec as Update does.
func (w *Workers) Kill(p *v1.Pod, exclusive bool, o KillOptions) {
	w.mu.Lock()
	ev := Kill{
		Pod: p, Exclusive: exclusive, RuntimeEmpty: o.RuntimeEmpty,
		Grace: o.Grace, Evict: o.Evict, Status: o.Status,
	}
	if o.Done != nil && !w.closed {
		w.lastWaiter++
		ev.Waiter = w.lastWaiter
		w.waiters[ev.Waiter] = o.Done
	}
	w.step(p.UID, ev)
	w.mu.Unlock()
	w.notifications.deliver()
}

// KillRuntime stops a pod that was found in the runtime, with its spec if
// the worker knows it. exclusive makes it hold its full name until it is gone.
func (w *Workers) KillRuntime(p *pod.Pod, exclusive bool) {
	w.apply(p.UID, KillRuntime{Pod: p, Exclusive: exclusive})
}

// apply applies one event to one pod.
func (w *Workers) apply(uid types.UID, ev Event) {
	w.mu.Lock()
	w.step(uid, ev)
	w.mu.Unlock()
	w.notifications.deliver()
}

// Close stops all work and leaves the pods as they are: wake-ups are
// cancelled, operations in flight are cancelled, and Close returns once they have
// ended, or with ctx's error. Events after it are ignored; queries go on
// answering. It is not to be called from Ops or Observer, which it waits for.
func (w *Workers) Close(ctx context.Context) error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		for _, p := range w.pods {
			p.stopTimer()
		}
		w.stopBase()
	}
	w.mu.Unlock()

	ended := make(chan struct{})
	go func() {
		w.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now is the only clock of the package.
func now() time.Time { return time.Now() }
