package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

func TestKillCancelsRunningSyncAndReleasesWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.takes = map[Op]time.Duration{OpSync: time.Hour, OpTerminate: 3 * time.Second, OpCleanup: time.Second}
		ops.lingers = time.Millisecond
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter}))
		p := testPod("u1", "web", seconds(30))

		w.Update(create(p))
		synctest.Wait()
		ops.wantCalls("u1 sync create")

		done := make(chan struct{})
		w.Kill(p, true, KillOptions{Done: done})
		if !w.IsPodTerminationRequested("u1") {
			t.Error("a query after Kill does not see it")
		}
		if w.ShouldPodContainersBeTerminating("u1") {
			t.Error("the stop counts as picked up while Sync still runs")
		}
		time.Sleep(ops.lingers)
		synctest.Wait()
		ops.wantCalls("u1 terminate grace=30")
		if !w.ShouldPodContainersBeTerminating("u1") || isClosed(done) {
			t.Error("Terminate runs: the stop is picked up, and the waiter waits")
		}

		began := time.Now()
		<-done
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the waiter was released after %s, want 3s", took)
		}
		if w.CouldHaveRunningContainers("u1") || w.ShouldPodBeFinished("u1") {
			t.Error("the pod is down and not yet cleaned up")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		ops.wantCalls("u1 cleanup")
		if !w.ShouldPodBeFinished("u1") {
			t.Error("the pod is not finished after its Cleanup")
		}
	})
}

func TestKillWithShorterGraceCancelsRunningTerminate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.takes[OpTerminate] = 25 * time.Second
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter}))
		p := testPod("u1", "web", seconds(30))
		w.Update(create(p))
		synctest.Wait()

		first, second := make(chan struct{}), make(chan struct{})
		w.Kill(p, true, KillOptions{Done: first})
		time.Sleep(5 * time.Second)
		ops.wantCalls("u1 sync create", "u1 terminate grace=30")

		w.Kill(p, true, KillOptions{Grace: seconds(60), Status: StatusOverride{Reason: "Longer"}})
		synctest.Wait()
		ops.wantCalls()

		w.Kill(p, true, KillOptions{Grace: seconds(2), Done: second})
		synctest.Wait()
		ops.wantCalls("u1 terminate grace=2 Longer")
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if !isClosed(first) || !isClosed(second) {
			t.Error("both waiters are to be released")
		}
	})
}

func TestExclusivePodsOfOneNameRunInTurn(t *testing.T) {
	for name, c := range map[string]struct {
		wakeOnRelease bool
		after         time.Duration
	}{
		"the second tries again after its back-off": {false, 10 * time.Second},
		"the second starts at the release":          {true, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ops := newFakeOps(t)
				ops.takes[OpTerminate], ops.takes[OpCleanup] = 3*time.Second, time.Second
				w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter, WakeOnRelease: c.wakeOnRelease}))
				old, fresh := testPod("u1", "web", nil), testPod("u2", "web", nil)
				w.Update(create(old))
				w.Update(create(fresh))
				synctest.Wait()
				ops.wantCalls("u1 sync create")
				if infos := w.Snapshot(); infos[1].NameHolder != "u1" {
					t.Errorf("u2 waits for %q, want u1", infos[1].NameHolder)
				}

				w.Kill(old, true, KillOptions{})
				time.Sleep(c.after - time.Nanosecond)
				synctest.Wait()
				ops.wantCalls("u1 terminate grace=1", "u1 cleanup")
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				ops.wantCalls("u2 sync sync")
			})
		})
	}
}

func TestWaitersOfStoppedPodsAreReleasedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.fails[OpCleanup] = errors.New("busy")
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter}))
		p, never := testPod("u1", "web", nil), testPod("u2", "web", nil)
		w.Update(create(p))
		synctest.Wait()
		w.Kill(p, true, KillOptions{})
		synctest.Wait()

		kill := func(p *v1.Pod, phase Phase) {
			t.Helper()
			done := make(chan struct{})
			w.Kill(p, true, KillOptions{Done: done})
			if !isClosed(done) {
				t.Errorf("the waiter of a %s pod is not released", phase)
			}
			synctest.Wait()
		}
		kill(p, Terminated)
		ops.set(func(o *fakeOps) { o.fails[OpCleanup] = nil })
		time.Sleep(BackOffPeriod)
		synctest.Wait()
		if !w.ShouldPodBeFinished("u1") {
			t.Fatal("u1 is not finished")
		}
		kill(p, Finished)
		kill(never, Unknown)
		w.KillRuntime(&pod.Pod{UID: "u3", Name: "other", Namespace: "ns"}, true)
		waits := make(chan struct{})
		w.Kill(testPod("u3", "other", nil), true, KillOptions{Done: waits})
		synctest.Wait()
		if !isClosed(waits) || w.IsPodKnown("u3") {
			t.Error("a runtime-only pod is forgotten, and its waiter released")
		}
	})
}

func TestCloseStopsNoPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.takes[OpTerminate] = time.Hour
		w := New(Options{Ops: ops, Jitter: noJitter})
		idle, stopping := testPod("u1", "a", nil), testPod("u2", "b", nil)
		w.Update(create(idle))
		w.Update(create(stopping))
		synctest.Wait()
		done := make(chan struct{})
		w.Kill(stopping, true, KillOptions{Done: done})
		synctest.Wait()
		ops.set(func(o *fakeOps) { o.calls = nil })

		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Update(create(testPod("u3", "c", nil)))
		w.Kill(idle, true, KillOptions{Done: make(chan struct{})})
		time.Sleep(time.Hour)
		synctest.Wait()
		ops.wantCalls()
		if isClosed(done) {
			t.Error("a waiter was told that a pod is down which was left running")
		}
		if w.IsPodKnown("u3") || w.IsPodTerminationRequested("u1") || !w.IsPodTerminationRequested("u2") {
			t.Error("events after Close changed something, or queries forgot what was before")
		}
		if err := w.Close(t.Context()); err != nil {
			t.Errorf("a second Close: %v", err)
		}
	})
}

func TestCloseContextCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.takes[OpSync], ops.deaf = time.Minute, true
		w := New(Options{Ops: ops})
		w.Update(create(testPod("u1", "web", nil)))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		time.Sleep(time.Minute)
	})
}

func TestWakeUpsAreJittered(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 10 * time.Second, 0.5: 12500 * time.Millisecond, 0.999: 14995 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ops := newFakeOps(t)
			ops.fails[OpSync] = errors.New("boom")
			w := closeAtEnd(t, New(Options{Ops: ops, Jitter: func() float64 { return jitter }}))
			w.Update(create(testPod("u1", "web", nil)))
			synctest.Wait()
			if wake := time.Until(w.Snapshot()[0].NextWake); wake != want {
				t.Errorf("jitter %v: wakes after %s, want %s", jitter, wake, want)
			}
			ops.wantCalls("u1 sync create")
			time.Sleep(want)
			synctest.Wait()
			ops.wantCalls("u1 sync sync")
		})
	}
}

func TestUpdateReplacesWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter}))
		p := testPod("u1", "web", nil)
		w.Update(create(p))
		time.Sleep(40 * time.Second)
		w.Update(Update{Pod: p, Type: TypeUpdate, Exclusive: true})
		time.Sleep(59 * time.Second)
		synctest.Wait()
		ops.wantCalls("u1 sync create", "u1 sync update")
		time.Sleep(time.Second)
		synctest.Wait()
		ops.wantCalls("u1 sync sync")
	})
}

func TestSinceIsEndOfPreviousOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		ops.takes[OpSync], ops.terminal = 2*time.Second, true
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter}))
		began := time.Now()
		w.Update(create(testPod("u1", "web", nil)))
		time.Sleep(time.Minute)
		synctest.Wait()
		ops.wantCalls("u1 sync create", "u1 terminate", "u1 cleanup")
		want := []time.Time{{}, began.Add(2 * time.Second), began.Add(2 * time.Second)}
		for i, since := range ops.since {
			if !since.Equal(want[i]) {
				t.Errorf("call %d: since %v, want %v", i+1, since, want[i])
			}
		}
	})
}

func TestAdoptedPodIsStoppedWithItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops := newFakeOps(t)
		w := closeAtEnd(t, New(Options{Ops: ops, Jitter: noJitter, WakeOnRelease: true}))
		old, fresh := testPod("u1", "web", seconds(30)), testPod("u2", "web", nil)
		w.Adopt(old, true)
		w.Update(create(fresh))
		synctest.Wait()
		ops.wantCalls()
		if infos := w.Snapshot(); infos[0].Pod() != old || infos[0].RuntimeOnly() || infos[1].NameHolder != "u1" {
			t.Errorf("an adopted pod has its spec and its name: %v", infos)
		}
		if !w.CouldHaveRunningContainers("u1") {
			t.Error("an adopted pod runs")
		}
		w.Kill(old, true, KillOptions{})
		synctest.Wait()
		ops.wantCalls("u1 terminate grace=30", "u1 cleanup", "u2 sync sync")
	})
}
