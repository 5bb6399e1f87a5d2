package pleg

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// A hint that is slower than the list of the same change costs nothing.
func TestHintForListedStateSkipsRelist(t *testing.T) {
	w := newWorld()
	w.put("u1", "c1", pod.Running, "s1", pod.Running)
	bubble(t, Options{Period: time.Hour}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		for _, h := range []pod.Notice{
			{ID: "s1", PodUID: "u1", State: pod.Running}, {ID: "c1", PodUID: "u1", State: pod.Created}, {ID: "c1", State: pod.Running},
			{ID: "c0", PodUID: "u1", Deleted: true}, {ID: "stranger", Deleted: true},
		} {
			h.Created = time.Now()
			w.raw(h)
			synctest.Wait()
			w.expect(t)
		}
		w.put("u1", "c1", pod.Exited, "s1", pod.Running)
		w.raw(pod.Notice{ID: "c1", PodUID: "u1", State: pod.Exited, Created: time.Now()})
		synctest.Wait()
		w.expect(t, "ListPod u1", "PodStatus u1")
		expectEvents(t, sub, "ContainerDied c1 hint")
	})
}

// Several hints of one change, of which the last arrive during its relist.
func TestHintsDuringRelistThatShowsThemCauseNoMore(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{Period: time.Hour}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		w.takes("ListPod u1", 50*time.Millisecond)
		w.put("u1", "c1", pod.Running, "s1", pod.Running)
		for _, state := range []pod.State{pod.Created, pod.Running} {
			w.raw(pod.Notice{ID: "c1", PodUID: "u1", State: state, Created: time.Now()})
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		w.expect(t, "ListPod u1", "PodStatus u1")
	})
}

// A list that is in flight may be older than the deletion that a hint tells of.
func TestDeletionDuringFullRelistIsRelisted(t *testing.T) {
	w := newWorld()
	bubble(t, Options{Period: time.Second}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		w.takes("ListPods", 100*time.Millisecond)
		time.Sleep(1050 * time.Millisecond)
		w.took()
		w.raw(pod.Notice{ID: "c1", PodUID: "u1", Deleted: true, Created: time.Now()})
		synctest.Wait()
		w.expect(t, "ListPod u1")
	})
}

// So may the relist of one pod, of which no listing before it had the container.
func TestDeletionDuringPodRelistIsRelisted(t *testing.T) {
	w := newWorld()
	bubble(t, Options{Period: time.Hour}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		w.took()
		w.takes("ListPod u1", 100*time.Millisecond)
		w.put("u1", "c1", pod.Running, "s1", pod.Running)
		w.raw(pod.Notice{ID: "c1", PodUID: "u1", State: pod.Running, Created: time.Now()})
		time.Sleep(75 * time.Millisecond) // it has looked, and has not returned
		w.put("u1", "s1", pod.Running)
		w.raw(pod.Notice{ID: "c1", PodUID: "u1", Deleted: true, Created: time.Now()})
		time.Sleep(time.Second)
		w.expect(t, "ListPod u1", "PodStatus u1", "ListPod u1", "PodStatus u1")
		expectEvents(t, sub, "ContainerStarted c1 hint", "ContainerStarted s1 hint", "ContainerDied c1 hint", "ContainerRemoved c1 hint")
	})
}

// The first relist catches up with the hint stream, also where there is none, and
// does not wait long for one that does not open.
func TestFirstRelistWaitsForHintStream(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{Period: time.Hour}, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		w.expect(t, "ListPods", "PodStatus u1")
	})
	slow := Options{Period: time.Hour, Broadcasts: func(ctx context.Context) bool { <-ctx.Done(); return false }}
	w = newWorld()
	bubble(t, slow, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		time.Sleep(openWait - time.Millisecond)
		w.expect(t)
		time.Sleep(2 * time.Millisecond)
		w.expect(t, "ListPods")
	})
}
