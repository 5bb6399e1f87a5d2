package worker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// recorder is an Observer that writes down what it is told.
type recorder struct {
	mu       sync.Mutex
	lines    []string
	finished func(PhaseChange)
}

var _ Observer = (*recorder)(nil)

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) PhaseChanged(c PhaseChange) {
	r.add("%s/%s %s to %s %s", c.State.Namespace, c.State.Name, c.From, c.To, c.State.Cause)
	if c.To == Finished && r.finished != nil {
		r.finished(c)
	}
}
func (r *recorder) OperationStarted(o Operation) { r.add("%s starts, grace %d", o.Op, o.Grace) }
func (r *recorder) OperationDone(o Operation)    { r.add("%s done in %s: %v", o.Op, o.Took, o.Err) }

func TestObserverCallsAreOrderedAndMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops, r := newFakeOps(t), &recorder{}
		ops.takes[OpTerminate] = 2 * time.Second
		var override StatusOverride
		var log bytes.Buffer
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter, Observer: r, Log: slog.New(slog.NewTextHandler(&log, nil))}))
		p := testPod("u1", "web", seconds(30))
		r.finished = func(c PhaseChange) {
			override = c.State.Status
			w.SyncKnownPods(nil)
		}
		w.Update(create(p))
		synctest.Wait()
		w.Kill(p, true, KillOptions{Evict: true, Status: StatusOverride{Phase: v1.PodFailed, Reason: "Evicted", Message: "low on memory"}})
		time.Sleep(time.Minute)
		synctest.Wait()

		want := []string{
			"ns/web unknown to syncing none", "sync starts, grace 0", "sync done in 0s: <nil>",
			"ns/web syncing to terminating evicted", "terminate starts, grace 30", "terminate done in 2s: <nil>",
			"ns/web terminating to terminated evicted", "cleanup starts, grace 0", "cleanup done in 0s: <nil>",
			"ns/web terminated to finished evicted", "ns/web finished to unknown evicted",
		}
		if !slices.Equal(r.lines, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(r.lines, "\n"), strings.Join(want, "\n"))
		}
		if override.Reason != "Evicted" {
			t.Errorf("the finished pod's override is %+v", override)
		}
		if lines := strings.Count(log.String(), "msg=\"pod phase\""); lines != 5 {
			t.Errorf("%d lines for 5 phase changes:\n%s", lines, &log)
		}
	})
}

func TestOnlyFailedOperationsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.fails[OpSync] = event.At(event.LayerImage, errors.New("no such image"))
		var log bytes.Buffer
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter, Log: slog.New(slog.NewTextHandler(&log, nil))}))
		p := testPod("u1", "web", nil)
		w.Update(create(p))
		synctest.Wait()
		if got := log.String(); !strings.Contains(got, `level=WARN msg="pod operation" pod=ns/web uid=u1 op=sync took=0s err="no such image"`) {
			t.Errorf("the error is not logged:\n%s", got)
		}
		if got := w.Snapshot()[0].LastError; got != (event.Failure{Op: "sync", Layer: event.LayerImage, Text: "no such image"}) {
			t.Errorf("LastError is %+v", got)
		}

		log.Reset()
		ops.set(func(o *fakeOps) { o.takes[OpSync] = time.Hour })
		time.Sleep(BackOffPeriod)
		w.Kill(p, true, KillOptions{})
		synctest.Wait()
		if got := log.String(); strings.Contains(got, "WARN") {
			t.Errorf("a cancelled Sync is logged as a failure:\n%s", got)
		}
	})
}

func TestSyncKnownPodsReportsAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.fails[OpTerminate], ops.fails[OpTerminateRuntime] = errors.New("stuck"), errors.New("stuck")
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter}))
		a, b := testPod("u1", "a", nil), testPod("u2", "b", nil)
		b.Annotations = map[string]string{pod.ConfigSourceAnnotation: "file"}
		if !w.CouldHaveRunningContainers("u9") || w.ShouldPodRuntimeBeRemoved("u9") {
			t.Error("before the first sync a pod that is not known might be running")
		}
		w.Update(create(a))
		w.Update(create(b))
		w.KillRuntime(&pod.Pod{UID: "u3", Name: "c", Namespace: "ns"}, true)
		synctest.Wait()
		known := w.SyncKnownPods([]*v1.Pod{b, testPod("u4", "d", nil)})
		want := map[types.UID]Known{
			"u1": {Phase: Terminating, Orphan: true, HasConfig: true},
			"u2": {Phase: Syncing, HasConfig: true, Static: true},
			"u3": {Phase: Terminating, Orphan: true},
		}
		if fmt.Sprint(known) != fmt.Sprint(want) {
			t.Errorf("known is %v, want %v", known, want)
		}
		if w.CouldHaveRunningContainers("u9") || !w.ShouldPodRuntimeBeRemoved("u9") {
			t.Error("after the first sync a pod that is not known cannot be running")
		}
		synctest.Wait()
		ops.set(func(o *fakeOps) { o.calls = nil })
		w.SyncKnownPods([]*v1.Pod{b})
		synctest.Wait()
		ops.set(func(o *fakeOps) { slices.Sort(o.calls) })
		ops.wantCalls("u1 terminate", "u3 terminate-runtime c")
	})
}

// TestConcurrentCallers gives random events from several goroutines. fakeOps
// notices operations that overlap, the race detector the rest, and the bubble
// a goroutine that stays.
func TestConcurrentCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.takes = map[Op]time.Duration{OpSync: 3 * time.Millisecond, OpTerminate: 2 * time.Millisecond, OpCleanup: time.Millisecond}
		w := closeAtEnd(t, New(Options{Ops: ops, Observer: &recorder{}, WakeOnRelease: true}))
		var callers sync.WaitGroup
		var mu sync.Mutex
		var waiters []chan struct{}
		for seed := range uint64(4) {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(seed, 1))
				for range 300 {
					uid := types.UID(fmt.Sprintf("u%d", random.IntN(5)))
					p := testPod(uid, "web", new(int64(random.IntN(5))))
					switch random.IntN(6) {
					case 0, 1, 2:
						w.Update(Update{Pod: p, Type: UpdateType(random.IntN(3)), Exclusive: true})
					case 3:
						done := make(chan struct{})
						mu.Lock()
						waiters = append(waiters, done)
						mu.Unlock()
						w.Kill(p, true, KillOptions{Grace: new(int64(random.IntN(9))), Done: done})
					case 4:
						w.SyncKnownPods([]*v1.Pod{p})
					case 5:
						w.Snapshot()
					}
					time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
				}
			})
		}
		callers.Wait()
		for range 5 {
			w.SyncKnownPods(nil)
			time.Sleep(time.Minute)
		}
		if left := w.Snapshot(); len(left) > 0 {
			t.Errorf("pods that are not desired are still known: %v", left)
		}
		for i, done := range waiters {
			if !isClosed(done) {
				t.Errorf("waiter %d of %d was never released", i, len(waiters))
			}
		}
	})
}
