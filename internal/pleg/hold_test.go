package pleg

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// TestHeldPodIsRelistedAfterRelease: one relist for all the steps that
// were taken meanwhile.
func TestHeldPodIsRelistedAfterRelease(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	w.put("u2", "s2", pod.Running)
	bubble(t, Options{Period: time.Hour}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		release := p.Hold("u1")
		for _, state := range []pod.State{pod.Created, pod.Running, pod.Exited} {
			w.put("u1", "c1", state, "s1", pod.Running)
			w.hint("c1", "u1")
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		w.expect(t)
		w.put("u2", "s2", pod.Exited)
		w.hint("s2", "u2") // another pod is not held
		synctest.Wait()
		w.expect(t, "ListPod u2", "PodStatus u2")
		release()
		synctest.Wait()
		w.expect(t, "ListPod u1", "PodStatus u1")
	})
}

// A hold that is not released delays hints by as long as proved hints allow a full
// relist to take.
func TestHoldExpires(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	w.put("u2", "s2", pod.Running)
	bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		prove(w)
		time.Sleep(5 * time.Second) // the next full relist is far away
		synctest.Wait()
		w.took()
		p.Hold("u2")
		w.put("u2", "s2", pod.Exited)
		w.hint("s2", "u2")
		time.Sleep(9990 * time.Millisecond)
		w.expect(t, "ListPods")
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		w.expect(t, "PodStatus u2")
	})
}

// A request is not delayed by a hint that came before.
func TestRequestedRelistIsNotHeld(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{Period: time.Hour}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		defer p.Hold("u1")()
		w.put("u1", "s1", pod.Exited)
		w.hint("s1", "u1")
		synctest.Wait()
		began := time.Now()
		st, err := p.GetNewerThan(t.Context(), "u1", began)
		if err != nil || st.Sandboxes[0].State != pod.Exited {
			t.Errorf("%+v, %v", st, err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

// A pod that is removed never releases its hold.
func TestExpiredHoldsAreForgotten(t *testing.T) {
	w := newWorld()
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		for i := range 1000 {
			p.Hold(types.UID(fmt.Sprint("removed-", i)))
			time.Sleep(time.Second)
		}
		if n := len(p.inbox.held); n > 11 {
			t.Errorf("%d holds are kept", n)
		}
	})
}

// What a full relist finds of a held pod is read once, at the end of the hold.
func TestHeldPodStatusIsReadAfterRelease(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		release := p.Hold("u1")
		w.put("u1", "c1", pod.Created, "s1", pod.Running)
		time.Sleep(1500 * time.Millisecond)
		w.put("u1", "c1", pod.Running, "s1", pod.Running)
		time.Sleep(time.Second)
		w.expect(t, "ListPods", "ListPods")
		if st, err := p.Get("u1"); err != nil || len(st.Containers) > 0 {
			t.Errorf("%+v, %v", st, err)
		}
		release()
		synctest.Wait()
		w.expect(t, "PodStatus u1")
		expectEvents(t, sub, "ContainerStarted c1 relist")
	})
}

// Who holds a pod may wait for its status, and gets it also where a full relist was
// quicker than the one that was asked for.
func TestHeldPodStatusIsReadForWaitingCaller(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		defer p.Hold("u1")()
		w.takes("ListPod u1", 5*time.Second)
		time.Sleep(900 * time.Millisecond)
		w.put("u1", "s1", pod.Exited)
		began := time.Now()
		st, err := p.GetNewerThan(t.Context(), "u1", began)
		if err != nil || st.Sandboxes[0].State != pod.Exited {
			t.Errorf("%+v, %v", st, err)
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}
