// Package simpod runs pods on a simulated runtime by plain calls, for tests.
package simpod

import (
	"context"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// Run runs a sandbox, and fails the test if that fails.
func Run(t *testing.T, runtime *sim.Runtime, namespace, name string, labels ...string) *Pod {
	t.Helper()
	return New(runtime, func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}, namespace, name, labels...)
}

// Pod is a pod that is created by plain runtime calls.
type Pod struct {
	sim     *sim.Runtime
	check   func(error)
	Sandbox string // id of the sandbox
	config  *runtimeapi.PodSandboxConfig
}

// New runs a sandbox; check is called with each error, nil included. labels are of the form key=value.
func New(runtime *sim.Runtime, check func(error), namespace, name string, labels ...string) *Pod {
	uid := "uid-" + name
	p := &Pod{sim: runtime, check: check, config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Namespace: namespace, Name: name, Uid: uid},
		Labels:   map[string]string{pod.NamespaceLabel: namespace, pod.NameLabel: name, pod.UIDLabel: uid},
	}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		p.config.Labels[key] = value
	}
	r, err := runtime.RunPodSandbox(context.Background(), &runtimeapi.RunPodSandboxRequest{Config: p.config})
	check(err)
	p.Sandbox = r.GetPodSandboxId()
	return p
}

// Start creates and starts a container, and returns its id.
func (p *Pod) Start(name string, command ...string) string {
	ctx := context.Background()
	r, err := p.sim.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: p.Sandbox, SandboxConfig: p.config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: name}, Image: &runtimeapi.ImageSpec{Image: "busybox"}, Command: command,
			Labels: map[string]string{
				pod.NamespaceLabel: p.config.Metadata.Namespace, pod.NameLabel: p.config.Metadata.Name,
				pod.UIDLabel: p.config.Metadata.Uid, pod.ContainerNameLabel: name,
			},
		},
	})
	p.check(err)
	_, err = p.sim.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: r.GetContainerId()})
	p.check(err)
	return r.GetContainerId()
}

// Remove takes the pod away, as crictl rmp --force does.
func (p *Pod) Remove() {
	_, err := p.sim.RemovePodSandbox(context.Background(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.Sandbox})
	p.check(err)
}
