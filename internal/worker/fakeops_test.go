package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// fakeOps is Ops whose calls take the time and have the outcome that a test
// sets, and end early when they are cancelled.
type fakeOps struct {
	t *testing.T

	mu    sync.Mutex
	calls []string
	since []time.Time
	busy  map[types.UID]bool
	// takes and fails are by operation; a cancelled one takes lingers to end;
	// deaf operations do not heed ctx.
	takes    map[Op]time.Duration
	lingers  time.Duration
	fails    map[Op]error
	terminal bool
	deaf     bool
}

var _ Ops = (*fakeOps)(nil)

func newFakeOps(t *testing.T) *fakeOps {
	return &fakeOps{t: t, busy: map[types.UID]bool{}, takes: map[Op]time.Duration{}, fails: map[Op]error{}}
}

func (o *fakeOps) do(ctx context.Context, uid types.UID, op Op, since time.Time, call string) (bool, error) {
	o.mu.Lock()
	if o.busy[uid] {
		o.t.Errorf("%s: two operations at once", uid)
	}
	o.busy[uid] = true
	o.calls = append(o.calls, fmt.Sprintf("%s %s", uid, call))
	o.since = append(o.since, since)
	takes, lingers, err, terminal, deaf := o.takes[op], o.lingers, o.fails[op], o.terminal, o.deaf
	o.mu.Unlock()

	defer func() {
		o.mu.Lock()
		o.busy[uid] = false
		o.mu.Unlock()
	}()
	done := ctx.Done()
	if deaf {
		done = nil
	}
	select {
	case <-done:
		time.Sleep(lingers)
		return false, ctx.Err()
	case <-time.After(takes):
		return terminal && op == OpSync, err
	}
}

func (o *fakeOps) Sync(ctx context.Context, in SyncInput) (bool, error) {
	return o.do(ctx, in.Pod.UID, OpSync, in.Since, "sync "+in.Type.String())
}

func (o *fakeOps) Terminate(ctx context.Context, in TerminateInput) error {
	call := "terminate"
	if in.Grace != nil {
		call += fmt.Sprintf(" grace=%d", *in.Grace)
	}
	if in.Status != (StatusOverride{}) {
		call += " " + in.Status.Reason
	}
	_, err := o.do(ctx, in.Pod.UID, OpTerminate, in.Since, call)
	return err
}

func (o *fakeOps) TerminateRuntime(ctx context.Context, p *pod.Pod) error {
	_, err := o.do(ctx, p.UID, OpTerminateRuntime, time.Time{}, "terminate-runtime "+p.Name)
	return err
}

func (o *fakeOps) Cleanup(ctx context.Context, in CleanupInput) error {
	_, err := o.do(ctx, in.Pod.UID, OpCleanup, in.Since, "cleanup")
	return err
}

func (o *fakeOps) set(change func(o *fakeOps)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

// wantCalls compares the calls since the last wantCalls.
func (o *fakeOps) wantCalls(want ...string) {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.calls, want) {
		o.t.Errorf("calls are %q, want %q", o.calls, want)
	}
	o.calls = nil
}

// closeAtEnd closes the workers when the test ends, inside its bubble.
func closeAtEnd(t *testing.T, w *Workers) *Workers {
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// noJitter makes the times of wake-ups exact.
func noJitter() float64 { return 0 }

func create(p *v1.Pod) Update { return Update{Pod: p, Type: TypeCreate, Exclusive: true} }

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
