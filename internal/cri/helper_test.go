package cri

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// bubble runs a test against the sim in virtual time.
func bubble(t *testing.T, f func(*testing.T, *sim.Runtime, *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := sim.New(sim.Options{Record: true})
		c, err := Connect(t.Context(), Options{Endpoint: Endpoint{Runtime: SimEndpoint}, Dial: r.Dial})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(); r.Close() })
		f(t, r, c)
	})
}

// tempSocket is a path for a socket: t.TempDir's may be too long for one.
func tempSocket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s.sock")
}

func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	path := tempSocket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, path
}

// simSocket serves a sim on a unix socket.
func simSocket(t *testing.T) (*sim.Runtime, string) {
	t.Helper()
	l, path := listen(t)
	r := sim.New(sim.Options{Record: true})
	t.Cleanup(r.Close)
	go func() { _ = r.Serve(l) }()
	return r, path
}

func sandboxConfig(name string, attempt uint32) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-" + name, Attempt: attempt},
		Labels: map[string]string{
			pod.UIDLabel: "uid-" + name, pod.NameLabel: name, pod.NamespaceLabel: "default",
		},
		Annotations: map[string]string{pod.ManifestAnnotation: "packed", pod.OwnerAnnotation: "agent"},
	}
}

func containerConfig(podName, name string, attempt uint32, argv ...string) *runtimeapi.ContainerConfig {
	return &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name, Attempt: attempt},
		Image:    &runtimeapi.ImageSpec{Image: "busybox"},
		Command:  argv,
		LogPath:  name + "/0.log",
		Labels: map[string]string{
			pod.UIDLabel: "uid-" + podName, pod.NameLabel: podName, pod.NamespaceLabel: "default", pod.ContainerNameLabel: name,
		},
		Annotations: map[string]string{pod.HashAnnotation: "beef", pod.RestartCountAnnotation: fmt.Sprint(attempt)},
	}
}

// runPod runs a pod of one container.
func runPod(t *testing.T, c *Client, name string, argv ...string) (sandboxID, containerID string) {
	t.Helper()
	cfg := sandboxConfig(name, 0)
	sb := must(t)(c.RunPodSandbox(t.Context(), cfg, ""))
	id := must(t)(c.CreateContainer(t.Context(), sb, containerConfig(name, "c", 0, argv...), cfg))
	if err := c.StartContainer(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return sb, id
}

func must(t *testing.T) func(string, error) string {
	return func(s string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func noEnv(string) string { return "" }
