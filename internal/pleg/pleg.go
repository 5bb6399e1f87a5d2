package pleg

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// ErrStopped is what GetNewerThan returns once Run has ended.
var ErrStopped = errors.New("pleg stopped")

// PLEG is the generator, its cache and its subscriptions (pkg/kubelet/pleg/generic.go,
// pkg/kubelet/container/cache.go). Make one with New; nothing happens until Run.
type PLEG struct {
	rt      Runtime
	opts    Options
	cache   *cache
	inbox   inbox
	list    listing
	subs    subscribers
	health  health
	started atomic.Bool
	stopped chan struct{}
	// missed is how many changes were not hinted: see Unhinted.
	missed atomic.Int64
	// tried is signalled when the hint stream has opened or ended.
	tried chan struct{}
	// recovered is signalled when the runtime answers again after it did not.
	recovered chan struct{}
}

// New returns a PLEG of the runtime.
func New(rt Runtime, opts Options) *PLEG {
	p := &PLEG{
		rt: rt, opts: opts.withDefaults(), cache: newCache(),
		stopped: make(chan struct{}), recovered: make(chan struct{}, 1), tried: make(chan struct{}, 1),
	}
	p.inbox.init()
	p.health.init(p.opts)
	return p
}

// Get returns what the cache knows of the pod now: its status, or the error
// of reading it. A pod that the runtime does not hold, or that was not listed
// yet, has an empty status. Status.At tells how new it is.
func (p *PLEG) Get(uid types.UID) (*pod.Status, error) {
	a := p.cache.get(uid)
	return a.status, a.err
}

// GetNewerThan returns what the cache knows of the pod as soon as that is
// newer than t: from a listing that began after t. Where the cache is older it
// asks for a relist of the pod rather than wait for the next full one. It
// blocks until then, until ctx ends, or until Run does (ErrStopped).
func (p *PLEG) GetNewerThan(ctx context.Context, uid types.UID, t time.Time) (*pod.Status, error) {
	if early := t.Sub(p.opts.Now()); early > 0 {
		select {
		case <-time.After(early):
		case <-ctx.Done():
			return nil, waitError(uid, ctx.Err())
		case <-p.stopped:
			return nil, waitError(uid, ErrStopped)
		}
	}
	w := p.cache.wait(uid, t)
	select {
	case <-w.done:
		return w.status, w.err
	default:
		p.inbox.addRequest(uid, relistRequest{source: FromRequest, awaited: true, after: t, seq: w.seq})
	}
	select {
	case <-w.done:
		return w.status, w.err
	case <-ctx.Done():
		p.cache.removeWaiter(uid, w)
		return nil, waitError(uid, ctx.Err())
	case <-p.stopped:
		p.cache.removeWaiter(uid, w)
		return nil, waitError(uid, ErrStopped)
	}
}

func waitError(uid types.UID, err error) error {
	return fmt.Errorf("wait for a newer status of pod %s: %w", uid, err)
}

// RequestReinspect makes the next relist of the pod, at most a Period away, read
// its status even without a change, and send a PodSync. It has no effect on a
// pod that the runtime does not list then.
func (p *PLEG) RequestReinspect(uid types.UID) { p.inbox.addReinspect(uid) }

// Hold delays the hints of a pod, and the reading of its status, until release is
// called or a HintedPeriod has passed, for a caller that changes the pod in several steps:
// one relist then replaces one per step. Full relists and requested relists are
// not delayed, nor what GetNewerThan waits for. There is one hold per pod at a time.
func (p *PLEG) Hold(uid types.UID) (release func()) {
	now := p.opts.Now()
	p.inbox.holdPod(uid, now, now.Add(p.opts.HintedPeriod))
	return func() { p.inbox.releasePod(uid) }
}

// Pods returns every pod as it was listed last, sorted by namespace, name and
// UID.
func (p *PLEG) Pods() []*pod.Pod { return p.list.sorted() }

// Unhinted returns the number of changes found by full relists whose hint did
// not arrive within a Period while the hint stream was open.
func (p *PLEG) Unhinted() int { return int(p.missed.Load()) }

// Run relists until ctx ends. It may be called once.
func (p *PLEG) Run(ctx context.Context) error {
	if p.started.Swap(true) {
		return errors.New("run pleg: it has run already")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer close(p.stopped)
	go p.listen(ctx)
	p.awaitStream(ctx)
	newLoop(ctx, p).run()
	return nil
}

// openWait bounds how long the first relist waits for the hint stream.
const openWait = 100 * time.Millisecond

// awaitStream returns once the hint stream is open, or is known not to be: then the
// first relist is the one that catches up with it.
func (p *PLEG) awaitStream(ctx context.Context) {
	timer := time.NewTimer(openWait)
	defer timer.Stop()
	select {
	case <-p.tried:
	case <-timer.C:
	case <-ctx.Done():
	}
}
