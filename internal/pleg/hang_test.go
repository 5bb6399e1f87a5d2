package pleg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// TestHangingStatusDelaysNoOtherPod follows a status call that ignores its
// context through its deadline, the threshold, and its late answer.
func TestHangingStatusDelaysNoOtherPod(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	w.put("u2", "s2", pod.Running)
	w.hang["PodStatus u1"] = nil
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		start := time.Now()
		expectEvents(t, sub, "ContainerStarted s2 relist")

		// The relists go on, and other pods' events with them.
		for i := range 5 {
			w.put("u2", "s2", pod.Exited)
			time.Sleep(time.Second)
			synctest.Wait()
			expectEvents(t, sub, "ContainerDied s2 relist")
			w.put("u2", "s2", pod.Running)
			time.Sleep(time.Second)
			synctest.Wait()
			want := []string{"ContainerStarted s2 relist"}
			if i == 4 { // the deadline is over: who waits for the status of u1 has to know, once
				want = append([]string{"PodSync  relist"}, want...)
			}
			expectEvents(t, sub, want...)
		}
		if calls := strings.Join(w.took(), ","); strings.Count(calls, "PodStatus u1") != 1 {
			t.Errorf("calls %q", calls)
		}

		// A newer status is not invented: a waiter gets the error.
		_, err := p.GetNewerThan(t.Context(), "u1", start.Add(time.Second))
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "status of default/u1 in flight for 1") {
			t.Errorf("error %v", err)
		}
		if h := p.Health(); len(h.InFlight) != 1 || h.InFlight[0] != (Call{"PodStatus", "u1", "default", "u1", start}) {
			t.Errorf("health %+v", h)
		}
		if err := p.Healthy(); err != nil {
			t.Errorf("unhealthy before the threshold: %v", err)
		}
		time.Sleep(3*time.Minute + 500*time.Millisecond)
		if err := p.Healthy(); err == nil || !strings.Contains(err.Error(), "PodStatus of default/u1 in flight for 3m1") {
			t.Errorf("healthy: %v", err)
		}
		if _, err := p.Get("u1"); err == nil || !strings.Contains(err.Error(), "in flight for 3m1") {
			t.Errorf("the error does not age: %v", err)
		}
		// Not one more call was started on top of the one that hangs.
		if calls := strings.Join(w.took(), ","); strings.Contains(calls, "PodStatus u1") {
			t.Error("the status was asked again while the call hung")
		}

		// The late answer is thrown away, the next relist reads again.
		w.release("PodStatus u1")
		synctest.Wait()
		if _, err := p.Get("u1"); err == nil {
			t.Error("a late status was believed")
		}
		expectEvents(t, sub)
		time.Sleep(time.Second)
		synctest.Wait()
		expectEvents(t, sub, "ContainerStarted s1 relist")
		if err := p.Healthy(); err != nil || len(p.Health().InFlight) != 0 {
			t.Errorf("%v, %+v", err, p.Health())
		}
	})
}

// TestHungPodsUseHalfOfTheSlots: pods whose statuses hang for ever, more of them than
// there are places, do not keep the others from being read.
func TestHungPodsUseHalfOfTheSlots(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	for i := range 20 {
		uid := types.UID(fmt.Sprint("hung", i))
		w.put(uid, fmt.Sprint("s", i), pod.Running)
		w.takes("PodStatus "+string(uid), time.Hour) // gives up when told to
	}
	bubble(t, Options{Parallel: 4}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		time.Sleep(2*time.Minute + 500*time.Millisecond) // each has hung once by now
		expectEvents(t, sub, slices.Repeat([]string{"PodSync  relist"}, 20)...)
		w.put("u", "s", pod.Running)
		start := time.Now()
		if _, err := p.GetNewerThan(t.Context(), "u", start); err != nil || time.Since(start) > 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		synctest.Wait()
		expectEvents(t, sub, "ContainerStarted s request")
		if n := len(p.Health().InFlight); n != 20 {
			t.Errorf("%d calls are named", n)
		}
	})
}

// TestHangingPodRelist gives up at the deadline; the full relists serve the
// pod meanwhile.
func TestHangingPodRelist(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running)
	w.hang["ListPod u1"] = nil
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		p.requestRelist("u1")
		synctest.Wait()
		if h := p.Health(); len(h.InFlight) != 1 || h.InFlight[0].String() != "ListPod of default/u1" {
			t.Errorf("health %+v", h)
		}
		w.put("u1", "s1", pod.Exited)
		time.Sleep(time.Second)
		synctest.Wait()
		expectEvents(t, sub, "ContainerDied s1 relist")
		time.Sleep(time.Minute)
		synctest.Wait()
		if h := p.Health(); len(h.InFlight) != 0 {
			t.Errorf("health %+v", h)
		}
		w.put("u1", "s1", pod.Running)
		w.release("ListPod u1")
		time.Sleep(time.Second)
		synctest.Wait()
		expectEvents(t, sub, "ContainerStarted s1 relist")
	})
}

// TestHangingFullRelist: relists of single pods go on, and the health report
// says what the PLEG waits for.
func TestHangingFullRelist(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.hangs("ListPods")
		time.Sleep(5 * time.Minute)
		w.put("u1", "s1", pod.Exited)
		w.hint("s1", "u1")
		synctest.Wait()
		expectEvents(t, sub, "ContainerDied s1 hint")
		if err := p.Healthy(); err == nil || !strings.Contains(err.Error(), "last relist 5m0s ago, threshold 3m0s, ListPods in flight for 4m59s") {
			t.Errorf("healthy: %v", err)
		}
		w.release("ListPods")
		time.Sleep(time.Second)
		synctest.Wait()
		if err := p.Healthy(); err != nil {
			t.Error(err)
		}
	})
}

// A full relist that hangs is retried after its deadline; its age is that of
// the first try.
func TestHungReadAgeCountsFromFirstTry(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		time.Sleep(time.Second)
		synctest.Wait() // the relist of this second is over
		began := time.Now()
		deadline := fmt.Errorf("list sandboxes: %w", context.DeadlineExceeded)
		for i := range 30 {
			p.health.relisted(began.Add(time.Duration(i)*11*time.Second), deadline, false)
			if in := p.Health().InFlight; len(in) != 1 || in[0].Op != "ListPods" || !in[0].Since.Equal(began) {
				t.Fatalf("in flight: %+v", in)
			}
		}
		p.health.relisted(began.Add(time.Hour), nil, false)
		if in := p.Health().InFlight; len(in) != 0 {
			t.Errorf("after an answer: %+v", in)
		}
	})
}
