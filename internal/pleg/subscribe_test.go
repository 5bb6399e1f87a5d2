package pleg

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

func started(uid types.UID, n int) []Event {
	return []Event{{PodUID: uid, Type: ContainerStarted, ID: fmt.Sprint(uid, n), Status: &pod.Status{UID: uid, Name: fmt.Sprint(n)}}}
}

func TestSubscribersGetAllEventsInOrder(t *testing.T) {
	p := New(newWorld(), Options{})
	p.subs.send(started("u0", 0))
	a, b := p.Subscribe(), p.Subscribe()
	select {
	case <-a.Ready():
		t.Error("an event from before the subscription")
	default:
	}
	p.subs.send(append(started("u1", 1), started("u2", 1)...))
	p.subs.send(started("u1", 2))
	b.Close()
	p.subs.send(started("u1", 3))
	for _, c := range []struct {
		sub  *Subscription
		want string
	}{{a, "u11 u21 u12 u13 "}, {b, "u11 u21 u12 "}} {
		<-c.sub.Ready()
		var got string
		for _, e := range c.sub.Take() {
			got += e.ID + " "
		}
		if got != c.want {
			t.Errorf("%q, expected %q", got, c.want)
		}
		if c.sub.Take() != nil {
			t.Error("events were taken twice")
		}
	}
}

// TestSlowSubscriberGetsMergedEvents: nothing is lost unsaid, memory is
// bounded per pod, and other pods' events are left alone.
func TestSlowSubscriberGetsMergedEvents(t *testing.T) {
	p := New(newWorld(), Options{})
	sub := p.Subscribe()
	const n = 1000
	p.subs.send(started("quiet", 0))
	for i := range n {
		p.subs.send(started("u1", i))
		if len(sub.waiting) > keepPerPod+1 {
			t.Fatalf("%d events wait", len(sub.waiting))
		}
	}
	sum, quiet := 0, 0
	events := sub.Take()
	for _, e := range events {
		if e.PodUID == "quiet" {
			quiet++
			continue
		}
		if e.Coalesced > 0 && (e.Type != PodSync || e.ID != "" || e.Status == nil) {
			t.Errorf("merged event %+v", e)
		}
		sum += 1 + e.Coalesced
	}
	if last := events[len(events)-1]; sum != n || quiet != 1 || last.Status.Name != fmt.Sprint(n-1) {
		t.Errorf("%d events of u1 and %d of the quiet pod; the last is %+v", sum, quiet, last)
	}
	p.subs.send(started("u1", 0))
	if e := sub.Take(); len(e) != 1 || e[0].Type != ContainerStarted {
		t.Errorf("after it has caught up: %+v", e)
	}
}
