package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// world is a client of a simulated runtime with two pods, with a proxy between them.
type world struct {
	*testing.T
	sim   *sim.Runtime
	proxy *Proxy
	cri   runtimeapi.RuntimeServiceClient
	conn  *grpc.ClientConn
}

func inWorld(t *testing.T, all []rules.Rule, f func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, sim: sim.New(sim.Options{})}
		if err := w.sim.Fill(t.Context(), 2, 7); err != nil {
			t.Fatal(err)
		}
		var err error
		w.proxy, err = New(Options{
			Dial: w.sim.Dial, Now: time.Now, CallerOf: func(net.Conn) relay.Caller { return relay.Caller{PID: 7} }, Fired: func(*rules.Firing, rules.Call) {},
		}, rules.NewSet(all), trace.Names{})
		if err != nil {
			t.Fatal(err)
		}
		l := bufconn.Listen(1 << 16)
		served := make(chan error, 1)
		go func() { served <- w.proxy.Serve(l) }()
		w.conn, err = grpc.NewClient("passthrough:proxy", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		w.cri = runtimeapi.NewRuntimeServiceClient(w.conn)
		f(w)
		_ = w.conn.Close()
		w.proxy.Close()
		<-served
		w.sim.Close()
	})
}

func parse(t *testing.T, texts ...string) (all []rules.Rule) {
	for _, text := range texts {
		r, err := rules.Parse("--inject", text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func (w *world) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(w.Context(), d)
	w.Cleanup(cancel)
	return ctx
}

func (w *world) containers() []*runtimeapi.Container {
	w.Helper()
	r, err := w.cri.ListContainers(w.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		w.Fatal(err)
	}
	return r.GetContainers()
}

func (w *world) sandboxes() []*runtimeapi.PodSandbox {
	w.Helper()
	r, err := w.cri.ListPodSandbox(w.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		w.Fatal(err)
	}
	return r.GetItems()
}

func (w *world) status(id string) *runtimeapi.ContainerStatus {
	w.Helper()
	r, err := w.cri.ContainerStatus(w.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		w.Fatal(err)
	}
	return r.GetStatus()
}

func (w *world) stop(id string) error {
	_, err := w.cri.StopContainer(w.Context(), &runtimeapi.StopContainerRequest{ContainerId: id})
	return err
}

func (w *world) wants(err error, want codes.Code) {
	w.Helper()
	if status.Code(err) != want {
		w.Errorf("%v, want %s", err, want)
	}
}

// running is a container that runs.
func (w *world) running() string {
	w.Helper()
	for _, c := range w.containers() {
		if c.GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING {
			return c.GetId()
		}
	}
	w.Fatal("none runs")
	return ""
}

// streamed are the containers of a streamed list, by state, and how many sandboxes it has.
func (w *world) streamed() (containers map[runtimeapi.ContainerState]int, sandboxes int) {
	w.Helper()
	c, err := w.cri.StreamContainers(w.Context(), &runtimeapi.StreamContainersRequest{})
	containers = map[runtimeapi.ContainerState]int{}
	for err == nil {
		var some *runtimeapi.StreamContainersResponse
		some, err = c.Recv()
		for _, one := range some.GetContainers() {
			containers[one.GetState()]++
		}
	}
	if !errors.Is(err, io.EOF) {
		w.Fatal(err)
	}
	s, err := w.cri.StreamPodSandboxes(w.Context(), &runtimeapi.StreamPodSandboxesRequest{})
	for err == nil {
		var some *runtimeapi.StreamPodSandboxesResponse
		some, err = s.Recv()
		sandboxes += len(some.GetPodSandboxes())
	}
	if !errors.Is(err, io.EOF) {
		w.Fatal(err)
	}
	return containers, sandboxes
}

// gallery is what each file has to do.
var gallery = map[string]func(w *world){
	"stop-hangs": func(w *world) {
		id := w.running()
		for range 3 {
			w.wants(w.stop(id), codes.DeadlineExceeded)
		}
		if s := w.status(id).GetState(); s != runtimeapi.ContainerState_CONTAINER_RUNNING {
			w.Error(s)
		}
	},
	"stale-list": func(w *world) {
		n := len(w.sandboxes())
		if _, err := w.cri.RunPodSandbox(w.Context(), sandbox("new")); err != nil {
			w.Fatal(err)
		}
		stale := len(w.sandboxes())
		time.Sleep(6 * time.Second)
		if fresh := len(w.sandboxes()); stale != n || fresh != n+1 {
			w.Errorf("%d, at once %d, later %d", n, stale, fresh)
		}
	},
	"two-sandboxes": func(w *world) {
		pods := map[string]int{}
		for _, s := range w.sandboxes() {
			if s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY {
				pods[s.GetMetadata().GetUid()]++
			}
		}
		if len(pods) != 2 {
			w.Error(pods)
		}
		for _, n := range pods {
			if n != 2 {
				w.Error(pods)
			}
		}
		if _, n := w.streamed(); n != len(w.sandboxes()) {
			w.Errorf("%d streamed", n)
		}
	},
	"unknown": func(w *world) {
		n := 0
		for _, c := range w.containers() {
			if c.GetState() == runtimeapi.ContainerState_CONTAINER_UNKNOWN {
				n++
			}
			if c.GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING || w.status(c.GetId()).GetState() != c.GetState() {
				w.Error(c)
			}
		}
		if streamed, _ := w.streamed(); n == 0 || streamed[runtimeapi.ContainerState_CONTAINER_UNKNOWN] != n {
			w.Errorf("%d are unknown, streamed %v", n, streamed)
		}
	},
	"no-events": func(w *world) {
		s, err := w.cri.GetContainerEvents(w.Context(), &runtimeapi.GetEventsRequest{})
		if err == nil {
			_, err = s.Recv()
		}
		if !errors.Is(err, io.EOF) {
			w.Error(err)
		}
	},
	"pleg-not-healthy": func(w *world) {
		id, began := w.running(), time.Now()
		_, err := w.cri.ContainerStatus(w.within(2*time.Minute), &runtimeapi.ContainerStatusRequest{ContainerId: id})
		w.wants(err, codes.DeadlineExceeded)
		if took := time.Since(began); took != 2*time.Minute {
			w.Error(took)
		}
	},
	"oom-exit-0": func(w *world) {
		id := w.running()
		if s := w.status(id); s.GetReason() != "" {
			w.Error(s)
		}
		if err := w.stop(id); err != nil {
			w.Fatal(err)
		}
		if s := w.status(id); s.GetExitCode() != 0 || s.GetReason() != "OOMKilled" {
			w.Error(s)
		}
	},
	"restart": func(w *world) {
		n := len(w.sandboxes())
		_, err := w.cri.RunPodSandbox(w.Context(), sandbox("new"))
		w.wants(err, codes.Unavailable)
		if now := len(w.sandboxes()); now != n+1 {
			w.Errorf("%d sandboxes, then %d", n, now)
		}
		if _, err := w.cri.RunPodSandbox(w.Context(), sandbox("other")); err != nil {
			w.Error(err)
		}
	},
	"many-containers": func(w *world) {
		ids := map[string]bool{}
		for _, c := range w.containers() {
			ids[c.GetId()] = true
		}
		streamed, _ := w.streamed()
		n := 0
		for _, some := range streamed {
			n += some
		}
		if len(ids) != 11000 || n != 11000 {
			w.Errorf("%d, streamed %d", len(ids), n)
		}
	},
}

func sandbox(name string) *runtimeapi.RunPodSandboxRequest {
	return &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name}}}
}

func TestGallery(t *testing.T) {
	entries, err := os.ReadDir("../../../examples/faults")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()[:len(e.Name())-len(".yaml")]
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("../../../examples/faults/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			all, err := rules.ParseFile(e.Name(), text)
			if err != nil {
				t.Fatal(err)
			}
			if gallery[name] == nil {
				t.Fatal("no test")
			}
			inWorld(t, all, gallery[name])
		})
	}
}

func TestUnknownMethodsPass(t *testing.T) {
	inWorld(t, parse(t, "method=* error=Internal"), func(w *world) {
		var answer []byte
		request := []byte{}
		err := w.conn.Invoke(w.Context(), "/runtime.v9.RuntimeService/New", &request, &answer, grpc.ForceCodecV2(relay.Codec{}))
		w.wants(err, codes.Unimplemented)
	})
}

func TestRepeatedCall(t *testing.T) {
	inWorld(t, parse(t, "method=RemovePodSandbox repeat=1"), func(w *world) {
		_, err := w.cri.RemovePodSandbox(w.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: w.sandboxes()[0].GetId()})
		w.wants(err, codes.OK) // it is idempotent
	})
}

func TestPodIsMatchedByName(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		all := w.sandboxes()
		w.containers()
		name := all[0].GetMetadata().GetName()
		w.proxy.SetRules(rules.NewSet(parse(t, "method=PodSandboxStatus pod="+name+" error=Internal")))
		for i, want := range []codes.Code{codes.Internal, codes.OK} {
			_, err := w.cri.PodSandboxStatus(w.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: all[i].GetId()})
			w.wants(err, want)
		}
		if r := w.proxy.Rules()[0]; r.Seen != 1 || r.Fired != 1 {
			t.Error(r)
		}
	})
}

// drainEvents takes the events of before: the runtime has them for its first client.
func (w *world) drainEvents() {
	ctx, cancel := context.WithCancel(w.Context())
	first, err := w.cri.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		w.Fatal(err)
	}
	go func() {
		for err == nil {
			_, err = first.Recv()
		}
	}()
	synctest.Wait()
	cancel()
	synctest.Wait()
}

// events are the types of the events that a client gets when a container stops and is
// removed, and after how many seconds.
func (w *world) events() (got string) {
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	s, err := w.cri.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
	id, began := w.running(), time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			event, err := s.Recv()
			if err != nil {
				return
			}
			if event.GetContainerId() == id {
				got += fmt.Sprintf("%d@%.0f ", event.GetContainerEventType(), time.Since(began).Seconds())
			}
		}
	}()
	if err := w.stop(id); err != nil {
		w.Fatal(err)
	}
	if _, err := w.cri.RemoveContainer(w.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
		w.Fatal(err)
	}
	time.Sleep(time.Minute)
	cancel()
	<-done
	return got
}

func TestEvents(t *testing.T) {
	for text, want := range map[string]string{
		"method=Version hang":              "2@0 3@0 ",
		"method=GetContainerEvents drop":   "",
		"method=*Events drop nth=1":        "3@0 ",
		"method=*Events repeat=1":          "2@0 2@0 3@0 3@0 ",
		"method=*Events reorder nth=1":     "3@0 2@0 ",
		"method=*Events delay=5s":          "2@5 3@10 ",
		"method=*Events drop pod=other":    "2@0 3@0 ",
		"method=*Events error=Unavailable": "",
		// A delay does not hide an act that ends the call.
		"method=*Events delay=5s error=Unavailable": "",
		"method=*Events delay=5s hang":              "",
	} {
		inWorld(t, nil, func(w *world) {
			w.drainEvents()
			w.proxy.SetRules(rules.NewSet(parse(t, text)))
			if got := w.events(); got != want {
				w.Errorf("%s: %q, want %q", text, got, want)
			}
		})
	}
}

func TestDeadlineAndCancellationPass(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.sim.Hang("Status", "")
		_, err := w.cri.Status(w.within(3*time.Second), &runtimeapi.StatusRequest{})
		w.wants(err, codes.DeadlineExceeded)
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = w.cri.Status(ctx, &runtimeapi.StatusRequest{})
		w.wants(err, codes.Canceled)
	})
}
