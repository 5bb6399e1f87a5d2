package pleg

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

func TestPeriodicRelistFindsChanges(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		w.expect(t, "ListPods", "PodStatus u1")
		expectEvents(t, sub, "ContainerStarted s1 relist")
		time.Sleep(time.Second)
		synctest.Wait()
		w.expect(t, "ListPods")
		w.put("u1", "s1", pod.Running, "c1", pod.Created)
		time.Sleep(time.Second)
		synctest.Wait()
		w.expect(t, "ListPods", "PodStatus u1")
		expectEvents(t, sub) // a created container is read and not told of
		if st, err := p.Get("u1"); err != nil || len(st.Containers) != 1 || st.Containers[0].State != pod.Created {
			t.Errorf("status %+v, %v", st, err)
		}
		if pods := p.Pods(); len(pods) != 1 || len(pods[0].Containers) != 1 {
			t.Errorf("pods %+v", pods)
		}
	})
}

func TestFailedListChangesNothing(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		before, _ := p.Get("u1")
		w.put("u1")
		w.answers("ListPods", errors.New("no"))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		expectEvents(t, sub)
		if st, err := p.Get("u1"); err != nil || st != before {
			t.Errorf("status %+v, %v", st, err)
		}
		if err := p.Healthy(); err != nil {
			t.Errorf("unhealthy before the threshold: %v", err)
		}
		time.Sleep(3 * time.Minute)
		if err := p.Healthy(); err == nil || !errors.Is(err, w.fail["ListPods"]) {
			t.Errorf("healthy: %v", err)
		}
	})
}

func TestFailedStatusIsReadAgain(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	no := errors.New("no")
	w.answers("PodStatus u1", no)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		w.expect(t, "ListPods", "PodStatus u1")
		expectEvents(t, sub)
		if _, err := p.Get("u1"); !errors.Is(err, no) {
			t.Errorf("error %v", err)
		}
		w.answers("PodStatus u1", nil)
		time.Sleep(time.Second)
		synctest.Wait()
		w.expect(t, "ListPods", "PodStatus u1")
		expectEvents(t, sub, "ContainerStarted s1 relist")
		if _, err := p.Get("u1"); err != nil {
			t.Error(err)
		}
	})
}

func TestDeadPodKeepsItsIP(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		w.put("u1", "s1", pod.Exited)
		time.Sleep(time.Second)
		synctest.Wait()
		st, err := p.Get("u1")
		if err != nil || !slices.Equal(st.IPs, []string{"10.0.0.1"}) || st.Sandboxes[0].State != pod.Exited {
			t.Errorf("status %+v, %v", st, err)
		}
		w.put("u1")
		time.Sleep(time.Second)
		synctest.Wait()
		if st, err := p.Get("u1"); err != nil || st.IPs != nil || st.Sandboxes != nil {
			t.Errorf("status of a pod that is gone: %+v, %v", st, err)
		}
	})
}

func TestReinspectSendsPodSync(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		p.RequestReinspect("u1")
		p.RequestReinspect("absent")
		synctest.Wait()
		w.expect(t)
		time.Sleep(time.Second)
		synctest.Wait()
		w.expect(t, "ListPods", "PodStatus u1")
		expectEvents(t, sub, "PodSync  relist")
		time.Sleep(time.Second)
		synctest.Wait()
		w.expect(t, "ListPods")
	})
}

// TestOvertakenListIsDiscarded: a full list that looked before a relist of one
// pod did, and answers after it, says nothing of that pod.
func TestOvertakenListIsDiscarded(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		// The list looks after half of this time, the pod changes, and is relisted.
		w.takes("ListPods", 400*time.Millisecond)
		time.Sleep(1250 * time.Millisecond)
		w.put("u1", "s1", pod.Exited)
		w.put("u2", "s2", pod.Running)
		for _, uid := range []types.UID{"u1", "u2"} {
			if st, err := p.GetNewerThan(t.Context(), uid, time.Now()); err != nil || len(st.Sandboxes) != 1 {
				t.Errorf("%+v, %v", st, err)
			}
		}
		synctest.Wait()
		expectEvents(t, sub, "ContainerDied s1 request", "ContainerStarted s2 request")
		at := time.Now()
		time.Sleep(300 * time.Millisecond) // the full list has returned
		synctest.Wait()
		expectEvents(t, sub)
		if st, _ := p.Get("u1"); st.Sandboxes[0].State != pod.Exited || !st.At.Equal(at) {
			t.Errorf("status %+v", st)
		}
		if st, _ := p.Get("u2"); len(st.Sandboxes) != 1 {
			t.Errorf("a pod that is newer than the list: %+v", st)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		expectEvents(t, sub)
	})
}

// TestChangeDuringAReadIsReadNext: a read answers for the listing that caused
// it; what a newer one shows comes after, and the global time vouches again.
func TestChangeDuringAReadIsReadNext(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	w.takes("PodStatus u1", 1500*time.Millisecond)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		start := time.Now()
		time.Sleep(900 * time.Millisecond) // the read has looked
		w.put("u1", "s1", pod.Exited)
		time.Sleep(700 * time.Millisecond)
		synctest.Wait()
		expectEvents(t, sub, "ContainerStarted s1 relist")
		if st, _ := p.Get("u1"); !st.At.Equal(start) || st.Sandboxes[0].State != pod.Running {
			t.Errorf("status %+v", st)
		}
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		expectEvents(t, sub, "ContainerDied s1 relist")
		time.Sleep(time.Second)
		synctest.Wait()
		if st, _ := p.Get("u1"); !st.At.Equal(start.Add(4 * time.Second)) {
			t.Errorf("as of %v: %+v", st.At.Sub(start), st)
		}
		w.expect(t, "ListPods", "PodStatus u1", "ListPods", "PodStatus u1", "ListPods", "ListPods", "ListPods")
	})
}

// TestPodRemovedDuringStatusRead: every transition that a listing showed is told.
func TestPodRemovedDuringStatusRead(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.hang["PodStatus u1"] = nil
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		expectEvents(t, sub)
		w.put("u1")
		time.Sleep(time.Second)
		synctest.Wait()
		expectEvents(t, sub, "ContainerStarted s1 relist", "ContainerDied s1 relist", "ContainerRemoved s1 relist")
		w.release("PodStatus u1")
		synctest.Wait()
		expectEvents(t, sub)
		if st, err := p.Get("u1"); err != nil || len(st.Sandboxes) != 0 {
			t.Errorf("a late status was believed: %+v, %v", st, err)
		}
	})
}

func TestRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(newWorld(), Options{})
		if err := p.Healthy(); err == nil {
			t.Error("healthy before the first relist")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
		if err := p.Run(t.Context()); err == nil {
			t.Error("ran twice")
		}
	})
}

// TestPodsReturnsNewestListing: by whichever list began last.
func TestPodsReturnsNewestListing(t *testing.T) {
	p1, p2 := &pod.Pod{UID: "a", Name: "a"}, &pod.Pod{UID: "b", Name: "b"}
	newer := &pod.Pod{UID: "a", Name: "a"}
	var l listing
	l.setPod("b", p2, 1)
	l.setAll([]*pod.Pod{p2, p1}, 2)
	l.setPod("b", nil, 1) // overtaken
	if got := l.sorted(); !slices.Equal(got, []*pod.Pod{p1, p2}) {
		t.Errorf("%+v", got)
	}
	l.setPod("a", newer, 4)
	l.setPod("b", nil, 5)
	l.setAll([]*pod.Pod{p1, p2}, 3) // overtaken
	if got := l.sorted(); !slices.Equal(got, []*pod.Pod{newer}) {
		t.Errorf("%+v", got)
	}
}
