package proxy

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/sim"
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
		w := &world{T: t, sim: sim.New(sim.Options{Record: true})}
		if err := w.sim.Fill(t.Context(), 2, 7); err != nil {
			t.Fatal(err)
		}
		var err error
		w.proxy, err = New(Options{
			Dial: w.sim.Dial, Now: time.Now, CallerOf: func(net.Conn) relay.Caller { return relay.Caller{PID: 7} }, Fired: func(*rules.Firing, rules.Call) {},
		}, rules.NewSet(all), &trace.Names{})
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
		if err := <-served; err != nil {
			t.Error(err)
		}
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

// rules replaces the rules of the proxy.
func (w *world) rules(texts ...string) {
	w.Helper()
	if err := w.proxy.Follow(parse(w.T, texts...)); err != nil {
		w.Fatal(err)
	}
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

func sandbox(name string) *runtimeapi.RunPodSandboxRequest {
	return &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name}}}
}
