package cri

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// listener collects hints.
type listener struct {
	mu     sync.Mutex
	opened int
	hints  []pod.Notice
	result chan error
}

func hear(ctx context.Context, c *Client) *listener {
	l := &listener{result: make(chan error, 1)}
	go func() {
		l.result <- c.Notices(ctx, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.opened++
		}, func(h pod.Notice) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.opened != 1 {
				panic("a hint before opened")
			}
			l.hints = append(l.hints, h)
		})
	}()
	synctest.Wait()
	return l
}

// take returns what was heard since the last time.
func (l *listener) take() []pod.Notice {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	hints := l.hints
	l.hints = nil
	return hints
}

// TestHintsOfAPodsLife, in order, each with the pod's UID while the runtime
// knows it.
func TestHintsOfAPodsLife(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		ctx, cancel := context.WithCancel(t.Context())
		l := hear(ctx, c)
		if l.opened != 1 {
			t.Errorf("opened %d times before the first event", l.opened)
		}
		sb, id := runPod(t, c, "p", "sleep", "5")
		time.Sleep(10 * time.Second)
		if err := c.RemovePodSandbox(ctx, sb); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range l.take() {
			name := map[string]string{sb: "sandbox", id: "container"}[h.ID]
			got = append(got, fmt.Sprintf("%s %s %t", name, h.PodUID, h.Deleted))
			if h.Created.IsZero() {
				t.Error("a hint without its time")
			}
		}
		want := "sandbox uid-p false, sandbox uid-p false, container uid-p false, container uid-p false, container uid-p false, " +
			"sandbox uid-p false, container uid-p true, sandbox uid-p true"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("hints %s\nwant  %s", s, want)
		}
		cancel()
		if err := <-l.result; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// TestHintsReplayUnreadEvents, with the times of then.
func TestHintsReplayUnreadEvents(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		runPod(t, c, "old", "true")
		time.Sleep(6 * time.Minute)
		runPod(t, c, "p", "true")
		time.Sleep(time.Minute)
		subscribed := time.Now()
		first := hear(t.Context(), c).take()
		if len(first) != 5 {
			t.Errorf("%d hints, want the 5 of the last five minutes", len(first))
		}
		for _, h := range first {
			if !h.Created.Before(subscribed) {
				t.Errorf("created %s, subscribed %s", h.Created, subscribed)
			}
		}
		if second := hear(t.Context(), c).take(); len(second) != 0 {
			t.Errorf("the second subscriber got %d old events", len(second))
		}
	})
}

// TestHintsAreBroadcastOrStolen, as the runtime has it.
func TestHintsAreBroadcastOrStolen(t *testing.T) {
	for mode, want := range map[sim.EventMode][2]int{sim.EventsBroadcast: {5, 5}, sim.EventsSharedQueue: {2, 3}} {
		bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
			r.SetEvents(mode)
			a, b := hear(t.Context(), c), hear(t.Context(), c)
			runPod(t, c, "p", "true")
			if got := [2]int{len(a.take()), len(b.take())}; got != want {
				t.Errorf("mode %d: %v, want %v", mode, got, want)
			}
		})
	}
}

// TestHintsUnsupported: Unimplemented, and a stream that ends at once.
func TestHintsUnsupported(t *testing.T) {
	for _, mode := range []sim.EventMode{sim.EventsUnimplemented, sim.EventsEOF} {
		bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
			r.SetEvents(mode)
			if err := <-hear(t.Context(), c).result; !errors.Is(err, ErrUnsupported) {
				t.Errorf("mode %d: %v", mode, err)
			}
		})
	}
}

// TestHintsThatEndLaterAreNotUnsupported: the runtime went away, or closed the
// stream after a while.
func TestHintsThatEndLaterAreNotUnsupported(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		l := hear(t.Context(), c)
		r.Crash()
		if err := <-l.result; !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnsupported) {
			t.Errorf("crashed at once: %v", err)
		}
		r.Restart()
		time.Sleep(5 * time.Second)
		l = hear(t.Context(), c)
		time.Sleep(time.Minute)
		r.SetEvents(sim.EventsBroadcast) // ends the streams
		if err := <-l.result; !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnsupported) {
			t.Errorf("ended after a minute: %v", err)
		}
	})
}

// TestHintsWithoutASandboxStatus still have the id, and the UID where one of
// the containers tells it.
func TestHintsWithoutASandboxStatus(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		r.Inject("method=GetContainerEvents unset=podSandboxStatus")
		l := hear(t.Context(), c)
		sb, id := runPod(t, c, "p", "sleep", "60")
		for _, h := range l.take() {
			if h.ID == id && h.PodUID != "uid-p" || h.ID == sb && h.PodUID != "" || h.ID == "" {
				t.Errorf("%+v", h)
			}
		}
	})
}

// TestHintsLostAndDoubled are for the listener to survive; the sim makes them.
func TestHintsLostAndDoubled(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		heal := r.Inject("method=GetContainerEvents drop")
		l := hear(t.Context(), c)
		runPod(t, c, "a", "sleep", "60")
		if n := len(l.take()); n != 0 {
			t.Errorf("%d hints, want none", n)
		}
		heal()
		r.Inject("method=GetContainerEvents repeat=1")
		runPod(t, c, "b", "sleep", "60")
		if n := len(l.take()); n != 8 {
			t.Errorf("%d hints, want 4 twice", n)
		}
	})
}
