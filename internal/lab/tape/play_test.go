package tape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/podctl/podctl/internal/pleg"
)

// transitions counts what a PLEG reports, without times, and in no order.
type transitions map[string]int

func (m transitions) add(events []pleg.Event) {
	for _, e := range events {
		text := fmt.Sprint(e.Type, " ", e.Name, " ", e.ID)
		if e.Status != nil {
			if c := e.Status.ContainerByID(e.ID); c != nil {
				text += fmt.Sprint(" ", c.State, " ", c.ExitCode)
			}
		}
		m[text]++
	}
}

// watch runs a PLEG on the runtime until ctx ends.
func (n *node) watch(ctx context.Context, into transitions) {
	p := pleg.New(n.client, pleg.Options{Broadcasts: func(context.Context) bool { return true }})
	sub := p.Subscribe()
	go func() { _ = p.Run(ctx) }()
	for {
		select {
		case <-sub.Ready():
			into.add(sub.Take())
		case <-ctx.Done():
			return
		}
	}
}

// replayed returns what a PLEG reports on a tape.
func replayed(t *testing.T, file []byte, o PlayOptions) (transitions, int) {
	t.Helper()
	found := transitions{}
	events := o.Events
	o.Events = func(now time.Time, evs []pleg.Event) {
		found.add(evs)
		if events != nil {
			events(now, evs)
		}
	}
	s := Serve(read(t, file))
	defer s.Close()
	unhinted, err := Play(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return found, unhinted
}

// A replay reports what a PLEG reported that ran during the recording, through crashes of the
// runtime and failing lists.
func TestReplayReportsWhatAWatchReported(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(n *node) {
				t := n.t
				rnd := rand.New(rand.NewPCG(seed, 6))
				time.Sleep(123456789)
				ctx, cancel := context.WithCancel(t.Context())
				live := transitions{}
				watched := make(chan bool)
				go func() { n.watch(ctx, live); close(watched) }()
				r := n.recorder()
				recorded := make(chan error)
				go func() {
					if err := r.Snapshot(ctx); err != nil {
						recorded <- err
						return
					}
					events, period := seed%2 == 0, time.Second
					if !events {
						period = 300 * time.Millisecond
					}
					recorded <- r.Follow(ctx, time.Hour, period, events)
				}()
				for i := range 30 {
					time.Sleep(1500*time.Millisecond + time.Duration(rnd.Int64N(int64(2*time.Second))))
					n.act(rnd, i)
				}
				time.Sleep(30 * time.Second)
				cancel()
				<-watched
				if err := <-recorded; err != nil {
					t.Fatal(err)
				}
				got, _ := replayed(t, finish(t, r.Writer), PlayOptions{})
				if diff := cmp.Diff(live, got); diff != "" || len(got) < 10 {
					t.Errorf("live -, replayed +: %s", diff)
				}
			})
		})
	}
}

// act does one random thing to the runtime; no state lasts for less than a relist takes.
func (n *node) act(rnd *rand.Rand, i int) {
	switch rnd.IntN(6) {
	case 0, 1, 2:
		n.run(fmt.Sprintf("p%d", i), fmt.Sprintf("sleep %d.5; exit %d", 2+rnd.IntN(5), rnd.IntN(3)))
	case 3:
		if pods, err := n.client.ListPods(context.Background()); err == nil && len(pods) > 0 {
			for _, s := range pods[rnd.IntN(len(pods))].Sandboxes {
				_ = n.client.StopPodSandbox(context.Background(), s.ID)
				time.Sleep(1500 * time.Millisecond)
				_ = n.client.RemovePodSandbox(context.Background(), s.ID)
			}
		}
	case 4:
		n.sim.Inject(`method=ListContainers nth=1 error=Internal message="no such thing"`)
	case 5:
		time.Sleep(1500 * time.Millisecond)
		n.sim.Crash()
		time.Sleep(time.Duration(rnd.Int64N(int64(4 * time.Second))))
		n.sim.Restart()
		time.Sleep(5 * time.Second) // found again
	}
}

// Events have the time of the recording. What an event of the runtime told of is not unhinted.
func TestReplayKeepsTheClockOfTheRecording(t *testing.T) {
	bubble(t, func(n *node) {
		t := n.t
		n.run("web", "sleep 3600")
		began := time.Now()
		r := n.recorder()
		if err := r.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(10 * time.Second)
			n.run("job", "sleep 5; exit 3")
		}()
		if err := r.Follow(t.Context(), time.Minute, time.Second, true); err != nil {
			t.Fatal(err)
		}
		file := finish(t, r.Writer)
		at := map[string]time.Duration{}
		var clock time.Time
		_, unhinted := replayed(t, file, PlayOptions{
			Events: func(now time.Time, events []pleg.Event) {
				if now.Before(clock) {
					t.Errorf("time goes back from %s to %s", clock, now)
				}
				for _, e := range events {
					if e.Name == "job" {
						at[string(e.Type)] = now.Sub(began).Round(time.Second)
					}
				}
			},
			Wait: func(_ context.Context, until time.Time) error {
				clock = until
				return nil
			},
		})
		want := map[string]time.Duration{"ContainerStarted": 10 * time.Second, "ContainerDied": 15 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" || unhinted != 0 {
			t.Errorf("%s, %d unhinted", diff, unhinted)
		}
		stop := errors.New("enough")
		s := Serve(read(t, file))
		defer s.Close()
		if _, err := Play(t.Context(), s, PlayOptions{Wait: func(context.Context, time.Time) error { return stop }}); !errors.Is(err, stop) {
			t.Error(err)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Play(canceled, s, PlayOptions{}); err == nil {
			t.Error("a replay that is canceled ends without an error")
		}
	})
}

// Hostile times do not make a replay long.
func TestReplayOfCenturiesIsShort(t *testing.T) {
	text := header + answer + `{"t":9000000000000000000,"call":"Version","answer":{"runtimeName":"b"}}` + "\n" + `{"t":9000000000000000000,"end":2}` + "\n"
	recorded, err := Read("f", bytes.NewReader(zipped(text)))
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(recorded)
	defer s.Close()
	waits := 0
	if _, err := Play(t.Context(), s, PlayOptions{Wait: func(context.Context, time.Time) error { waits++; return nil }}); err != nil || waits > 3 {
		t.Errorf("%d waits, %v", waits, err)
	}
}
