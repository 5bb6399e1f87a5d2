package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
)

const (
	// perPod is the number of containers of a simulated pod.
	perPod = 2
	// statusTakes is how long a simulated status call takes.
	statusTakes = time.Millisecond
)

// simNode is a simulated runtime, on a socket, that holds running containers.
type simNode struct {
	rt       *sim.Runtime
	endpoint string
	// changing are those that change in each round, one in a hundred.
	changing []*simContainer
}

type simContainer struct {
	id     string
	create *runtimeapi.CreateContainerRequest
}

func newSimNode(ctx context.Context, dir string, containers int) (*simNode, error) {
	socket := filepath.Join(dir, fmt.Sprintf("sim-%d.sock", containers))
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	n := &simNode{rt: sim.New(sim.Options{}), endpoint: "unix://" + socket}
	go func() { _ = n.rt.Serve(listener) }() // until close
	n.rt.SetEvents(sim.EventsUnimplemented)
	n.rt.Script("c", sim.Script{Program: &sim.Program{Forever: true}})
	for i := range containers / perPod {
		made, err := n.makePod(ctx, i)
		if err != nil {
			n.close()
			return nil, err
		}
		if i%(100/perPod) == 0 {
			n.changing = append(n.changing, made)
		}
	}
	return n, nil
}

// delayStatuses makes every status call take statusTakes from now on.
func (n *simNode) delayStatuses() {
	n.rt.Inject("method=PodSandboxStatus delay=" + statusTakes.String())
	n.rt.Inject("method=ContainerStatus delay=" + statusTakes.String())
}

func (n *simNode) close() { n.rt.Close() }

// makePod returns the first of the pod's containers.
func (n *simNode) makePod(ctx context.Context, i int) (first *simContainer, err error) {
	name := fmt.Sprintf("deployment-%05d-abcde", i)
	uid := fmt.Sprintf("6f1a3c52-0000-4000-8000-%012d", i)
	labels := map[string]string{
		"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": uid, "app": "bench",
	}
	sandbox := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: uid},
		Labels:   labels, Annotations: map[string]string{"kubernetes.io/config.source": "file"},
	}
	made, err := n.rt.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		return nil, err
	}
	for attempt := range perPod {
		c := &simContainer{create: &runtimeapi.CreateContainerRequest{
			PodSandboxId: made.PodSandboxId, SandboxConfig: sandbox,
			Config: &runtimeapi.ContainerConfig{
				Metadata: &runtimeapi.ContainerMetadata{Name: "c", Attempt: uint32(attempt)},
				Image:    &runtimeapi.ImageSpec{Image: "registry.example/team/app:v1"},
				Labels: map[string]string{
					"io.kubernetes.container.name": "c", "io.kubernetes.pod.name": name,
					"io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": uid,
				},
				Annotations: map[string]string{
					"io.kubernetes.container.hash": "3f2a91bc", "io.kubernetes.container.restartCount": "0",
					"io.kubernetes.container.terminationMessagePath":   "/dev/termination-log",
					"io.kubernetes.container.terminationMessagePolicy": "File", "io.kubernetes.pod.terminationGracePeriod": "30",
				},
			},
		}}
		if err := n.start(ctx, c); err != nil {
			return nil, err
		}
		if first == nil {
			first = c
		}
	}
	return first, nil
}

func (n *simNode) start(ctx context.Context, c *simContainer) error {
	made, err := n.rt.CreateContainer(ctx, c.create)
	if err != nil {
		return err
	}
	c.id = made.ContainerId
	_, err = n.rt.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: c.id})
	return err
}

// stopChanging stops one container in a hundred: one event each.
func (n *simNode) stopChanging(ctx context.Context) error {
	for _, c := range n.changing {
		if _, err := n.rt.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: c.id}); err != nil {
			return err
		}
	}
	return nil
}

// renewChanging replaces them by running ones: two events each.
func (n *simNode) renewChanging(ctx context.Context) error {
	for _, c := range n.changing {
		if _, err := n.rt.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: c.id}); err != nil {
			return err
		}
		if err := n.start(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
