package pleg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// world is a runtime in memory whose calls take virtual time. A test changes
// its pods, and says which of its events are told.
type world struct {
	mu    sync.Mutex
	pods  map[types.UID]*pod.Pod
	calls []string
	// delay is how long a call takes ("ListPods", "ListPod u1", "PodStatus u1");
	// half of it before it looks.
	delay map[string]time.Duration
	// fail is the error of a call.
	fail map[string]error
	// hang keeps a call from returning, whatever its context says, until it
	// is closed. What bubble finds here it makes.
	hang map[string]chan struct{}

	telling  sync.Mutex // hints come one by one
	noEvents error      // what Hints returns at once
	stream   *hintStream
	streams  int
}

type hintStream struct {
	each func(pod.Notice)
	end  chan error
}

func newWorld() *world {
	return &world{
		pods: map[types.UID]*pod.Pod{}, delay: map[string]time.Duration{},
		fail: map[string]error{}, hang: map[string]chan struct{}{},
	}
}

// put makes the pod what the arguments say: ids with states, a sandbox if the
// id begins with s.
func (w *world) put(uid types.UID, states ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &pod.Pod{UID: uid, Name: string(uid), Namespace: "default"}
	for i := 0; i < len(states); i += 2 {
		id, state := states[i].(string), states[i+1].(pod.State)
		if id[0] == 's' {
			p.Sandboxes = append(p.Sandboxes, &pod.Sandbox{ID: id, State: state})
		} else {
			p.Containers = append(p.Containers, &pod.Container{ID: id, Name: "n" + id, State: state})
		}
	}
	w.pods[uid] = p
	if len(states) == 0 {
		delete(w.pods, uid)
	}
}

// answers sets the error of a call; nil for none.
func (w *world) answers(call string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail[call] = err
}

// takes sets how long a call takes.
func (w *world) takes(call string, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay[call] = d
}

// hangs keeps a call from returning until released. Only inside a bubble.
func (w *world) hangs(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hang[call] = make(chan struct{})
}

func (w *world) release(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.hang[call])
	delete(w.hang, call)
}

// events sets what Hints returns at once; nil: there are events.
func (w *world) events(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noEvents = err
}

func (w *world) subscriptions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams
}

func (w *world) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream.end <- err
}

func (w *world) call(ctx context.Context, name string, look func()) error {
	w.mu.Lock()
	w.calls = append(w.calls, name)
	delay, err, hang := w.delay[name], w.fail[name], w.hang[name]
	w.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if pause(ctx, delay/2); err == nil {
		w.mu.Lock()
		look()
		w.mu.Unlock()
	}
	pause(ctx, delay/2)
	return errors.Join(err, ctx.Err())
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (w *world) ListPods(ctx context.Context) (pods []*pod.Pod, err error) {
	err = w.call(ctx, "ListPods", func() {
		for _, p := range w.pods {
			pods = append(pods, copyOf(p))
		}
	})
	return pods, err
}

func (w *world) ListPod(ctx context.Context, uid types.UID) (p *pod.Pod, err error) {
	err = w.call(ctx, "ListPod "+string(uid), func() { p = copyOf(w.pods[uid]) })
	return p, err
}

func (w *world) PodStatus(ctx context.Context, p *pod.Pod) (st *pod.Status, err error) {
	err = w.call(ctx, "PodStatus "+string(p.UID), func() { st = statusOf(p, w.pods[p.UID]) })
	return st, err
}

// statusOf is what the runtime now says of the containers of the listing p.
func statusOf(p, now *pod.Pod) *pod.Status {
	st := &pod.Status{UID: p.UID, Name: p.Name, Namespace: p.Namespace}
	if now == nil {
		return st
	}
	for _, s := range now.Sandboxes {
		if listedIn(p, s.ID) {
			st.Sandboxes = append(st.Sandboxes, &pod.SandboxStatus{ID: s.ID, State: s.State})
			if s.State == pod.Running {
				st.IPs = []string{"10.0.0." + s.ID[1:]}
			}
		}
	}
	for _, c := range now.Containers {
		if listedIn(p, c.ID) {
			st.Containers = append(st.Containers, &pod.ContainerStatus{ID: c.ID, Name: c.Name, State: c.State})
		}
	}
	return st
}

func copyOf(p *pod.Pod) *pod.Pod {
	if p == nil {
		return nil
	}
	c := *p
	c.Sandboxes, c.Containers = nil, nil
	for _, s := range p.Sandboxes {
		s := *s
		c.Sandboxes = append(c.Sandboxes, &s)
	}
	for _, k := range p.Containers {
		k := *k
		c.Containers = append(c.Containers, &k)
	}
	return &c
}

func (w *world) Notices(ctx context.Context, opened func(), each func(pod.Notice)) error {
	w.mu.Lock()
	if err := w.noEvents; err != nil {
		w.mu.Unlock()
		if errors.Is(err, io.EOF) {
			opened()
			return nil
		}
		return err
	}
	s := &hintStream{each: each, end: make(chan error, 1)}
	w.stream = s
	w.streams++
	w.mu.Unlock()
	opened()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-s.end:
		return err
	}
}

// hint tells of an event now.
func (w *world) hint(id string, uid types.UID) {
	w.raw(pod.Notice{ID: id, PodUID: uid, Created: time.Now()})
}

func (w *world) raw(h pod.Notice) {
	w.telling.Lock()
	defer w.telling.Unlock()
	w.mu.Lock()
	each := w.stream.each
	w.mu.Unlock()
	each(h)
}

// took returns the calls since it was asked the last time.
func (w *world) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

func (w *world) expect(t *testing.T, calls ...string) {
	t.Helper()
	if got := w.took(); !slices.Equal(got, calls) {
		t.Errorf("calls %q, expected %q", got, calls)
	}
}

// bubble runs f beside a running PLEG of the world, in virtual time.
func bubble(t *testing.T, opts Options, w *world, f func(t *testing.T, p *PLEG, sub *Subscription)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		for name := range w.hang {
			w.hang[name] = make(chan struct{}) // one that belongs to the bubble
		}
		p := New(w, opts)
		sub := p.Subscribe()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = p.Run(ctx) }()
		synctest.Wait()
		f(t, p, sub)
		cancel()
		synctest.Wait()
	})
}

// broadcasting is a runtime whose hints may be proved.
var broadcasting = Options{Broadcasts: func(context.Context) bool { return true }}

// told lists the events that wait, as "type id source".
func told(sub *Subscription) []string {
	var list []string
	for _, e := range sub.Take() {
		list = append(list, fmt.Sprintf("%s %s %s", e.Type, e.ID, e.Source))
	}
	return list
}

func expectEvents(t *testing.T, sub *Subscription, want ...string) {
	t.Helper()
	if got := told(sub); !slices.Equal(got, want) {
		t.Errorf("events %q, expected %q", got, want)
	}
}

func listedIn(p *pod.Pod, id string) bool {
	_, listed := stateIn(p, id)
	return listed
}

// requestRelist makes the pod be relisted now, unless a listing that is newer
// than this call comes before.
func (p *PLEG) requestRelist(uid types.UID) {
	p.inbox.addRequest(uid, relistRequest{source: FromRequest, awaited: true, after: p.opts.Now(), seq: p.cache.lastSeq()})
}
