package sim_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

// node is a runtime and a client of it.
type node struct {
	t   *testing.T
	sim *sim.Runtime
	cc  *grpc.ClientConn
	rt  runtimeapi.RuntimeServiceClient
	img runtimeapi.ImageServiceClient
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, o sim.Options, f func(*testing.T, *node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := sim.New(o)
		cc, err := grpc.NewClient("passthrough:///sim",
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return r.Dial(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cc.Close(); r.Close() })
		f(t, &node{t, r, cc, runtimeapi.NewRuntimeServiceClient(cc), runtimeapi.NewImageServiceClient(cc)})
	})
}

func sandboxConfig(name string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-" + name},
		Labels:   map[string]string{"io.kubernetes.pod.uid": "uid-" + name},
		Hostname: name,
	}
}

func (n *node) runPod(cfg *runtimeapi.PodSandboxConfig) string {
	n.t.Helper()
	resp, err := n.rt.RunPodSandbox(n.t.Context(), &runtimeapi.RunPodSandboxRequest{Config: cfg})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.PodSandboxId
}

// containerConfig has a pid namespace of its own, as the kubelet's default.
func containerConfig(argv ...string) *runtimeapi.ContainerConfig {
	const name = "c"
	return &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name},
		Image:    &runtimeapi.ImageSpec{Image: "busybox"},
		Command:  argv,
		LogPath:  name + "/0.log",
		Linux: &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
			NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
		}},
	}
}

func (n *node) create(sb string, pod *runtimeapi.PodSandboxConfig, cfg *runtimeapi.ContainerConfig) string {
	n.t.Helper()
	resp, err := n.rt.CreateContainer(n.t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: sb, Config: cfg, SandboxConfig: pod})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.ContainerId
}

func (n *node) start(id string) {
	n.t.Helper()
	if _, err := n.rt.StartContainer(n.t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		n.t.Fatal(err)
	}
}

// run starts a container that runs a shell script, in a pod of its own.
func (n *node) run(script string) (id string) {
	n.t.Helper()
	pod := sandboxConfig("p")
	id = n.create(n.runPod(pod), pod, containerConfig("sh", "-c", script))
	n.start(id)
	return id
}

func (n *node) status(id string) *runtimeapi.ContainerStatus {
	n.t.Helper()
	resp, err := n.rt.ContainerStatus(n.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.Status
}

// stop stops a container and returns how long that took.
func (n *node) stop(id string, grace int64) time.Duration {
	n.t.Helper()
	start := time.Now()
	if _, err := n.rt.StopContainer(n.t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: grace}); err != nil {
		n.t.Fatal(err)
	}
	return time.Since(start).Round(10 * time.Millisecond)
}
