package pleg

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// TestHeldPodIsRelistedOnceItIsReleased: one relist for all the steps that
// were taken meanwhile.
func TestHeldPodIsRelistedOnceItIsReleased(t *testing.T) {
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

// A hold that is not released delays hints by one period.
func TestHoldEndsByItself(t *testing.T) {
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
		time.Sleep(990 * time.Millisecond)
		w.expect(t)
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		w.expect(t, "ListPod u2", "PodStatus u2")
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
		if n := len(p.box.held); n > 2 {
			t.Errorf("%d holds are kept", n)
		}
	})
}
