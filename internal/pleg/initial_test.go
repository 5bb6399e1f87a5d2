package pleg

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// initial lists the events that wait as "type id", with what there was at
// first marked.
func initial(sub *Subscription) []string {
	var list []string
	for _, e := range sub.Take() {
		text := fmt.Sprintf("%s %s", e.Type, e.ID)
		if e.Initial {
			text += " initial"
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

func TestEventsOfFirstFullRelistAreInitial(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.ErrUnsupported
	w.put("u1", "s1", pod.Running, "c1", pod.Exited, "c2", pod.Created)
	w.put("u2", "s2", pod.Running)
	w.hang["PodStatus u2"] = nil
	bubble(t, Options{}, w, func(t *testing.T, _ *PLEG, sub *Subscription) {
		want := []string{"ContainerDied c1 initial", "ContainerStarted s1 initial"}
		if got := initial(sub); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		// What is told late because its status hung was there at first all the
		// same; what changed meanwhile was not.
		w.put("u1", "s1", pod.Running, "c1", pod.Exited, "c2", pod.Running)
		w.put("u2", "s2", pod.Running, "c3", pod.Running)
		time.Sleep(5 * time.Second)
		w.release("PodStatus u2")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		want = []string{"ContainerStarted c2", "ContainerStarted c3", "ContainerStarted s2 initial"}
		if got := initial(sub); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestEventsCarryTheListing that showed them, of a pod that is gone the last
// one that had it.
func TestEventsCarryTheListing(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, _ *PLEG, sub *Subscription) {
		sub.Take()
		w.put("u1", "s1", pod.Exited)
		time.Sleep(time.Second)
		synctest.Wait()
		w.put("u1")
		time.Sleep(time.Second)
		synctest.Wait()
		events := sub.Take()
		if len(events) != 2 || events[0].Pod != events[1].Pod || events[0].Pod.Sandboxes[0].State != pod.Exited {
			t.Errorf("%+v", events)
		}
	})
}

// TestUnhintedCountsChangesFoundByRelistOnly.
func TestUnhintedCountsChangesFoundByRelistOnly(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, _ *Subscription) {
		for i := range 3 {
			w.put("u1", "s1", pod.Running, fmt.Sprint("c", i), pod.Running)
			w.hint("s1", "u1")
			synctest.Wait()
		}
		time.Sleep(15 * time.Second)
		if n := p.Unhinted(); n != 0 {
			t.Errorf("%d changes were not hinted", n)
		}
		w.put("u1", "s1", pod.Running)
		time.Sleep(15 * time.Second)
		if n := p.Unhinted(); n != 1 {
			t.Errorf("%d changes were not hinted, want 1", n)
		}
		w.end(errors.New("reset")) // the count outlives the stream
		time.Sleep(15 * time.Second)
		if n := p.Unhinted(); n != 1 {
			t.Errorf("%d changes were not hinted, want 1", n)
		}
	})
}

// TestHintsOnlyRelistsOnlyToCatchUp: at the start, when the stream opens and when
// it ends, and as a safety net; each second while there is no stream.
func TestHintsOnlyRelistsOnlyToCatchUp(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{HintsOnly: true}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		sub.Take()
		w.took()
		time.Sleep(50 * time.Second)
		w.expect(t)
		w.put("u1", "s1", pod.Exited) // no hint
		time.Sleep(15 * time.Second)
		synctest.Wait()
		w.expect(t, "ListPods", "PodStatus u1")
		expectEvents(t, sub, "ContainerDied s1 relist")
		w.events(errors.ErrUnsupported)
		w.end(errors.New("reset"))
		time.Sleep(3*time.Second + 100*time.Millisecond)
		synctest.Wait()
		w.expect(t, "ListPods", "ListPods", "ListPods", "ListPods")
		if err := p.Healthy(); err != nil {
			t.Error(err)
		}
	})
}
