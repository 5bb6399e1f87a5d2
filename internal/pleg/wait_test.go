package pleg

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

func TestGetNewerThanCachedStatusMakesNoCall(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		w.took()
		before := time.Now().Add(-time.Nanosecond)
		for range 3 {
			if _, err := p.GetNewerThan(t.Context(), "u1", before); err != nil {
				t.Error(err)
			}
		}
		if st, err := p.GetNewerThan(t.Context(), "absent", before); err != nil || len(st.Sandboxes) != 0 {
			t.Errorf("%+v, %v", st, err)
		}
		synctest.Wait()
		w.expect(t)
	})
}

// TestGetNewerThanUnchangedPodReadsNoStatus: one list call shows that nothing
// has happened, and the status that is there is as new as that.
func TestGetNewerThanUnchangedPodReadsNoStatus(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		time.Sleep(300 * time.Millisecond)
		now := time.Now()
		old, _ := p.Get("u1")
		st, err := p.GetNewerThan(t.Context(), "u1", now)
		if err != nil || !st.At.Equal(now) || len(st.Sandboxes) != 1 {
			t.Errorf("%+v, %v", st, err)
		}
		if time.Since(now) != 0 {
			t.Errorf("waited for the period: %v", time.Since(now))
		}
		if !old.At.Before(now) {
			t.Error("a status that was handed out has changed")
		}
		w.expect(t, "ListPod u1")
		expectEvents(t, sub)
	})
}

func TestGetNewerThanChangedPodReadsStatus(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		w.put("u1", "s1", pod.Exited)
		st, err := p.GetNewerThan(t.Context(), "u1", time.Now())
		if err != nil || st.Sandboxes[0].State != pod.Exited {
			t.Errorf("%+v, %v", st, err)
		}
		w.expect(t, "ListPod u1", "PodStatus u1")
		synctest.Wait()
		expectEvents(t, sub, "ContainerDied s1 request")
	})
}

// TestFullRelistDoesNotRenewUnreadStatus: while the status of a changed pod is
// being read, the global time is newer than what is known of that pod.
func TestFullRelistDoesNotRenewUnreadStatus(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	w.put("u2", "s2", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		w.takes("PodStatus u1", 100*time.Millisecond)
		w.takes("PodStatus u3", 100*time.Millisecond)
		w.put("u1", "s1", pod.Exited)
		w.put("u3", "s3", pod.Running)
		start := time.Now()
		time.Sleep(1050 * time.Millisecond)
		w.took()
		if st, _ := p.Get("u1"); st.Sandboxes[0].State != pod.Running || !st.At.Equal(start) {
			t.Errorf("unread pod: %+v", st)
		}
		if st, _ := p.Get("u3"); len(st.Sandboxes) != 0 || !st.At.Equal(start) {
			t.Errorf("new pod: %+v", st)
		}
		if st, _ := p.Get("u2"); !st.At.Equal(start.Add(time.Second)) {
			t.Errorf("unchanged pod: %+v", st)
		}
		st, err := p.GetNewerThan(t.Context(), "u1", start)
		if err != nil || st.Sandboxes[0].State != pod.Exited {
			t.Errorf("%+v, %v", st, err)
		}
		if took := time.Since(start); took != 1100*time.Millisecond {
			t.Errorf("answered after %v", took)
		}
		w.expect(t) // the read in flight serves it
	})
}

func TestGetNewerThanAbsentPod(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running, "c1", pod.Exited)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		time.Sleep(100 * time.Millisecond)
		w.put("u1")
		now := time.Now()
		st, err := p.GetNewerThan(t.Context(), "u1", now)
		if err != nil || len(st.Sandboxes)+len(st.Containers) != 0 || !st.At.Equal(now) || st.UID != "u1" {
			t.Errorf("%+v, %v", st, err)
		}
		synctest.Wait()
		expectEvents(t, sub, "ContainerRemoved c1 request", "ContainerDied s1 request", "ContainerRemoved s1 request")
		if st, err := p.GetNewerThan(t.Context(), "never", now); err != nil || !st.At.Equal(now) {
			t.Errorf("%+v, %v", st, err)
		}
		w.expect(t, "ListPod u1", "ListPod never")
		if pods := p.Pods(); len(pods) != 0 {
			t.Errorf("pods %v", pods)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(p.cache.entries); n != 0 {
			t.Errorf("%d absent pods are remembered after a full relist", n)
		}
		expectEvents(t, sub)
	})
}

func TestGetNewerThanContextCanceled(t *testing.T) {
	w := newWorld()
	w.answers("ListPods", errors.New("no"))
	w.answers("ListPod u1", errors.New("no"))
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for _, from := range []time.Time{time.Now(), time.Now().Add(time.Hour)} {
			if _, err := p.GetNewerThan(ctx, "u1", from); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		}
		if n := len(p.cache.waiters); n != 0 {
			t.Errorf("%d waiters left", n)
		}
	})
}

func TestGetNewerThanAfterRunEnds(t *testing.T) {
	w := newWorld()
	w.answers("ListPods", errors.New("no"))
	w.answers("ListPod u1", errors.New("no"))
	var mu sync.Mutex
	var errs []error
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		for _, from := range []time.Time{time.Now(), time.Now().Add(time.Hour)} {
			go func() {
				_, err := p.GetNewerThan(context.Background(), "u1", from)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}()
		}
		synctest.Wait()
		if len(errs) != 0 {
			t.Errorf("ended before: %v", errs)
		}
	})
	for _, err := range errs {
		if !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
	}
	if len(errs) != 2 {
		t.Errorf("%d have ended", len(errs))
	}
}

// TestFailedPodRelistIsRetried: at the next full relist, and where
// that is far off, after a Period.
func TestFailedPodRelistIsRetried(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.answers("ListPod u1", errors.New("no"))
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		w.took()
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		if _, err := p.GetNewerThan(t.Context(), "u1", start); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 900*time.Millisecond {
			t.Errorf("answered after %v", took)
		}
		w.expect(t, "ListPod u1", "ListPods")
	})
}

// TestManyWaitersShareOneRelist: a caller that asks while a relist that serves it is in
// flight, or with others, causes none of his own.
func TestManyWaitersShareOneRelist(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	w.takes("ListPod u1", 100*time.Millisecond)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		w.took()
		start := time.Now()
		for i := range 5 {
			go func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				if _, err := p.GetNewerThan(t.Context(), "u1", start.Add(-time.Nanosecond).Add(time.Duration(i))); err != nil {
					t.Error(err)
				}
			}()
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		// The first is served by the first full relist, the second asks at
		// start; the others, which want a moment later, share one more.
		calls := w.took()
		if !slices.Equal(calls, []string{"ListPod u1"}) && !slices.Equal(calls, []string{"ListPod u1", "ListPod u1"}) {
			t.Errorf("calls %q", calls)
		}
		if n := len(p.cache.waiters); n != 0 {
			t.Errorf("%d waiters left", n)
		}
	})
}

func TestRequestRelistIsServedByANewerListing(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		w.took()
		p.requestRelist("u1")
		p.requestRelist("u1")
		synctest.Wait()
		w.expect(t, "ListPod u1")
	})
}
