package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Fill makes pods as a kubelet would have, the same for the same seed: of ten containers
// eight run, one of them after restarts, one has completed and one has failed.
func (r *Runtime) Fill(ctx context.Context, pods int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range pods {
		app := pick("api", "cache", "cron", "db", "frontend", "ingress", "metrics", "queue", "search", "web")
		name := fmt.Sprintf("%s-%08x-%05x", app, random.Uint32(), random.Uint32N(1<<20))
		namespace := pick("default", "default", "kube-system", "monitoring", "shop")
		uid := fmt.Sprintf("%08x-0000-4000-8000-%012x", random.Uint32(), random.Uint64N(1<<48))
		labels := map[string]string{pod.NameLabel: name, pod.NamespaceLabel: namespace, pod.UIDLabel: uid, "app": app}
		sandbox := &runtimeapi.PodSandboxConfig{
			Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: namespace, Uid: uid},
			Hostname: name, Labels: labels, Annotations: map[string]string{"kubernetes.io/config.source": "api"},
		}
		made, err := r.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: sandbox})
		if err != nil {
			return err
		}
		for n := range 1 + random.IntN(3) {
			container := &runtimeapi.ContainerConfig{
				Metadata: &runtimeapi.ContainerMetadata{Name: []string{app, "sidecar", "logger"}[n]},
				Image:    &runtimeapi.ImageSpec{Image: "registry.example/" + app + ":v" + strconv.Itoa(1+random.IntN(9))},
			}
			ends := []string{"sleep infinity"}
			switch random.IntN(10) {
			case 0:
				ends = []string{"exit 0"}
			case 1:
				ends = []string{"exit 1"}
			case 2:
				ends = []string{"exit 1", "exit 137", "sleep infinity"}[random.IntN(2):]
			}
			for attempt, script := range ends {
				if err := r.fillContainer(ctx, made.PodSandboxId, sandbox, container, attempt, script); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *Runtime) fillContainer(ctx context.Context, id string, sandbox *runtimeapi.PodSandboxConfig, of *runtimeapi.ContainerConfig, attempt int, script string) error {
	name := of.Metadata.Name
	c, err := r.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: id, SandboxConfig: sandbox, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name, Attempt: uint32(attempt)},
		Image:    of.Image, Command: []string{"sh", "-c", script},
		Labels: map[string]string{
			pod.NameLabel: sandbox.Metadata.Name, pod.NamespaceLabel: sandbox.Metadata.Namespace, pod.UIDLabel: sandbox.Metadata.Uid, pod.ContainerNameLabel: name,
		},
		Annotations: map[string]string{pod.RestartCountAnnotation: strconv.Itoa(attempt), pod.TerminationGraceAnnotation: "30"},
	}})
	if err == nil {
		_, err = r.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId})
	}
	return err
}
