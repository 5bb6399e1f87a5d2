package tape

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// live is a recorded PLEG on a simulated runtime, in virtual time.
type live struct {
	t      *testing.T
	sim    *sim.Runtime
	client *cri.Client
	tape   bytes.Buffer
	events []told
	pods   int
}

// told is an event and when its subscriber received it.
type told struct {
	at time.Time
	ev pleg.Event
}

func (x told) String() string {
	e := x.ev
	text := fmt.Sprintf("%s %s %s/%s %s %.8s by %s at %s initial=%v coalesced=%d",
		x.at.UTC().Format("04:05.000000000"), e.Type, e.Namespace, e.Name, e.Container, e.ID, e.Source, e.At.UTC().Format("04:05.000000000"), e.Initial, e.Coalesced)
	if e.Status == nil {
		return text + " gone"
	}
	text += fmt.Sprint(" ips=", e.Status.IPs)
	if c := e.Status.ContainerByID(e.ID); c != nil {
		text += fmt.Sprintf(" %s exit=%d reason=%s started=%s finished=%s", c.State, c.ExitCode, c.Reason,
			c.StartedAt.UTC().Format("04:05.000000000"), c.FinishedAt.UTC().Format("04:05.000000000"))
	}
	return text
}

// record records the input of the PLEG while during runs, and its events.
func record(t *testing.T, opts pleg.Options, during func(*live)) *live {
	t.Helper()
	l := &live{}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Duration(123456789)) // a time that is no round one
		l.t = t
		l.sim = sim.New(sim.Options{})
		defer l.sim.Close()
		var err error
		l.client, err = cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: l.sim.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer l.client.Close()
		rec := NewRecorder(l.client, time.Now)
		opts.Broadcasts = func(context.Context) bool { return true }
		p := pleg.New(rec, opts)
		if err := rec.Begin(&l.tape, Header{Podctl: "test", Runtime: "sim", Period: Duration(opts.Period), HintsOnly: opts.HintsOnly}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		sub := p.Subscribe()
		go l.follow(ctx, sub)
		go func() { _ = p.Run(ctx) }()
		during(l)
		synctest.Wait()
		if _, err := rec.End(); err != nil {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
	})
	return l
}

func (l *live) follow(ctx context.Context, sub *pleg.Subscription) {
	for {
		select {
		case <-sub.Ready():
			for _, ev := range sub.Take() {
				l.events = append(l.events, told{time.Now(), ev})
			}
		case <-ctx.Done():
			return
		}
	}
}

// replayed returns the events of the tape's replay.
func replayed(t *testing.T, tape []byte) ([]told, Report) {
	t.Helper()
	r, err := NewReader("tape", bytes.NewReader(tape))
	if err != nil {
		t.Fatal(err)
	}
	var events []told
	report, err := Play(t.Context(), r, PlayOptions{Events: collect(&events)})
	if err != nil {
		t.Fatal(err)
	}
	return events, report
}

func collect(into *[]told) func(time.Time, []pleg.Event) {
	return func(now time.Time, events []pleg.Event) {
		for _, ev := range events {
			*into = append(*into, told{now, ev})
		}
	}
}

func (l *live) equalsItsReplay() {
	l.t.Helper()
	got, report := replayed(l.t, l.tape.Bytes())
	if report.Span <= 0 {
		l.t.Errorf("%+v", report)
	}
	// What is told of two pods at one time has no order.
	byPod := func(a, b told) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.ev.PodUID, b.ev.PodUID)) }
	slices.SortStableFunc(l.events, byPod)
	slices.SortStableFunc(got, byPod)
	for i := range max(len(got), len(l.events)) {
		var live, replay string
		if i < len(l.events) {
			live = l.events[i].String()
		}
		if i < len(got) {
			replay = got[i].String()
		}
		if live != replay {
			l.t.Fatalf("event %d of %d live, %d replayed, %+v:\nlive   %s\nreplay %s", i, len(l.events), len(got), report, live, replay)
		}
	}
}

// pod runs the containers of a new pod, each with a command.
func (l *live) pod(commands ...string) {
	l.pods++
	name := fmt.Sprintf("p%d", l.pods)
	labels := map[string]string{pod.UIDLabel: "uid-" + name, pod.NameLabel: name, pod.NamespaceLabel: "default"}
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-" + name},
		Labels:   labels, Annotations: map[string]string{pod.ManifestAnnotation: "secret"},
	}
	sandbox, err := l.client.RunPodSandbox(context.Background(), config, "")
	if err != nil {
		return
	}
	for i, command := range commands {
		id, err := l.client.CreateContainer(context.Background(), sandbox, &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: fmt.Sprintf("c%d", i)},
			Image:    &runtimeapi.ImageSpec{Image: "busybox"}, Command: []string{"sh", "-c", command},
			Labels: map[string]string{
				pod.UIDLabel: "uid-" + name, pod.NameLabel: name, pod.NamespaceLabel: "default", pod.ContainerNameLabel: fmt.Sprintf("c%d", i),
			},
			Envs: []*runtimeapi.KeyValue{{Key: "TOKEN", Value: []byte("secret")}},
		}, config)
		if err != nil {
			continue
		}
		_ = l.client.StartContainer(context.Background(), id)
	}
}

// TestReplayMatchesRecording: faults, hints that are lost, late or
// twice, and crashes make no difference.
func TestReplayMatchesRecording(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 6))
			opts := pleg.Options{HintsOnly: seed%8 == 7}
			if seed%4 == 3 {
				opts.Period = 300 * time.Millisecond
			}
			l := record(t, opts, func(l *live) {
				if seed%5 == 4 {
					l.sim.SetEvents(sim.EventsUnimplemented)
				}
				for range 40 {
					time.Sleep(time.Duration(rnd.Int64N(int64(3 * time.Second))))
					l.act(rnd)
				}
			})
			if len(l.events) < 10 {
				t.Errorf("only %d events", len(l.events))
			}
			l.t = t
			l.equalsItsReplay()
		})
	}
}

// act does one random thing to the runtime.
func (l *live) act(rnd *rand.Rand) {
	method := []string{"ListPodSandbox", "ListContainers", "ContainerStatus", "PodSandboxStatus"}[rnd.IntN(4)]
	switch rnd.IntN(12) {
	case 0, 1, 2:
		l.pod(fmt.Sprintf("sleep 0.%d; exit %d", rnd.IntN(900), rnd.IntN(3)), "sleep 3600")
	case 3, 4:
		if pods, err := l.client.ListPods(context.Background()); err == nil && len(pods) > 0 {
			p := pods[rnd.IntN(len(pods))]
			for _, s := range p.Sandboxes {
				_ = l.client.StopPodSandbox(context.Background(), s.ID)
				if rnd.IntN(2) == 0 {
					_ = l.client.RemovePodSandbox(context.Background(), s.ID)
				}
			}
		}
	case 5:
		release := l.sim.Delay(method, "", time.Duration(rnd.Int64N(int64(time.Second))))
		time.AfterFunc(time.Duration(rnd.Int64N(int64(5*time.Second))), release)
	case 6:
		for range 1 + rnd.IntN(3) {
			l.sim.FailNext(method, "", status.Error(codes.Internal, "no such thing"))
		}
	case 7:
		release := l.sim.Hang(method, fmt.Sprintf("p%d", 1+rnd.IntN(l.pods+1)))
		time.AfterFunc(time.Duration(rnd.Int64N(int64(25*time.Second))), release)
	case 8:
		lose := rnd.IntN(3)
		l.sim.TamperEvents(func(*runtimeapi.ContainerEventResponse) int { return lose })
	case 9:
		l.sim.TamperEvents(nil)
	case 10:
		l.sim.Crash()
		time.Sleep(time.Duration(rnd.Int64N(int64(4 * time.Second))))
		l.sim.Restart()
	case 11:
		time.Sleep(15 * time.Second)
	}
}
