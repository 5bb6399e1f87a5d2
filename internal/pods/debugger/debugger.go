package debugger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

// ErrPodEnds: the pod's sandbox was stopped, and the container with it.
var ErrPodEnds = errors.New("the sandbox of the pod was stopped")

// Debugger runs one container.
type Debugger struct {
	Client *cri.Client
	Pod    *pod.Pod
	// ID is the container's, "" before Create.
	ID string
}

// Create creates the container in the pod's newest sandbox. Remove removes it, also after
// Start has failed.
func (d *Debugger) Create(ctx context.Context, c *v1.EphemeralContainer, image *pod.Image) error {
	if len(d.Pod.Sandboxes) == 0 || d.Pod.Sandboxes[0].State != pod.Running {
		return errors.New("debug pod: it has no running sandbox")
	}
	sandboxID := d.Pod.Sandboxes[0].ID
	sandbox, err := d.Client.SandboxConfig(ctx, sandboxID)
	if err != nil {
		return err
	}
	in := Input{Sandbox: sandbox, Container: c, Image: *image}
	for _, other := range d.Pod.Containers {
		if other.SandboxID != sandboxID || other.State != pod.Running {
			continue
		}
		if other.Name == c.TargetContainerName {
			in.Target = other.ID
		}
		if in.Hosts == nil {
			if in.Hosts, err = d.hostsMount(ctx, other.ID); err != nil {
				return err
			}
		}
	}
	if c.TargetContainerName != "" && in.Target == "" {
		return fmt.Errorf("debug pod: target container %q does not run", c.TargetContainerName)
	}
	cfg, err := Config(in)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Wait for the runtime also after an interrupt: without its id the container could not be removed.
	d.ID, err = d.Client.CreateContainer(context.WithoutCancel(ctx), sandboxID, cfg, sandbox)
	return err
}

// Start starts the container that Create created, unless ctx has ended. It waits for the
// runtime even if ctx ends: a container that is starting cannot be removed.
func (d *Debugger) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.Client.StartContainer(context.WithoutCancel(ctx), d.ID)
}

// hostsMount returns the mount of /etc/hosts of a container, nil if it has none.
func (d *Debugger) hostsMount(ctx context.Context, id string) (*pod.Mount, error) {
	s, err := d.Client.ContainerStatus(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range s.Mounts {
		if s.Mounts[i].ContainerPath == "/etc/hosts" {
			return &s.Mounts[i], nil
		}
	}
	return nil, nil
}

// watchPeriod is the poll interval of Wait.
const watchPeriod = 500 * time.Millisecond

// Wait returns once the container has exited, with its status, or with ErrPodEnds.
func (d *Debugger) Wait(ctx context.Context) (*pod.ContainerStatus, error) {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		s, err := d.Client.ContainerStatus(ctx, d.ID)
		if err != nil {
			return nil, err
		}
		if s.State == pod.Exited {
			return s, nil
		}
		p, err := d.Client.ListPod(ctx, d.Pod.DistinctUID())
		if err != nil {
			return nil, err
		}
		if !d.sandboxRuns(p) {
			return nil, ErrPodEnds
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// sandboxRuns reports whether the container's sandbox is ready.
func (d *Debugger) sandboxRuns(p *pod.Pod) bool {
	return p != nil && slices.ContainsFunc(p.Sandboxes, func(s *pod.Sandbox) bool {
		return s.ID == d.Pod.Sandboxes[0].ID && s.State == pod.Running
	})
}

// Remove kills the container if it runs, and removes it with its log.
func (d *Debugger) Remove(ctx context.Context) error {
	if d.ID == "" {
		return nil
	}
	s, err := d.Client.ContainerStatus(ctx, d.ID)
	if errors.Is(err, cri.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = d.Client.StopContainer(ctx, d.ID, 0)
	}
	if err == nil || errors.Is(err, cri.ErrNotFound) {
		err = d.Client.RemoveContainer(ctx, d.ID)
	}
	if err != nil {
		return err
	}
	if filepath.Base(s.LogPath) != logName(s.Name) {
		return nil
	}
	if err := os.Remove(s.LogPath); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Input is what Config needs.
type Input struct {
	Sandbox *runtimeapi.PodSandboxConfig
	// Container is the ephemeral container, Image what it runs.
	Container *v1.EphemeralContainer
	Image     pod.Image
	// Target is the id of the container whose processes it sees, "" for none.
	Target string
	// Hosts is the pod's own /etc/hosts, nil if it has none.
	Hosts *pod.Mount
}

// Config returns the config of a debug container. It shares the pod's names and namespaces,
// and none of its volumes. It is pure.
func Config(in Input) (*runtimeapi.ContainerConfig, error) {
	m, ns := in.Sandbox.GetMetadata(), in.Sandbox.GetLinux().GetSecurityContext().GetNamespaceOptions()
	p := &v1.Pod{}
	p.Namespace, p.Name, p.UID = m.GetNamespace(), m.GetName(), types.UID(m.GetUid())
	p.Spec.HostNetwork = ns.GetNetwork() == runtimeapi.NamespaceMode_NODE
	p.Spec.HostIPC = ns.GetIpc() == runtimeapi.NamespaceMode_NODE
	p.Spec.HostPID = ns.GetPid() == runtimeapi.NamespaceMode_NODE
	p.Spec.ShareProcessNamespace = new(ns.GetPid() == runtimeapi.NamespaceMode_POD)
	users := ns.GetUsernsOptions()
	if users.GetMode() == runtimeapi.NamespaceMode_POD && len(users.GetUids()) > 0 {
		p.Spec.HostUsers = new(false)
	}
	cfg, err := render.Container(p, pod.Ephemeral(in.Container), render.ContainerInput{
		Node: &render.Node{}, Image: in.Image, Target: in.Target, UserNamespace: users,
	})
	if err != nil {
		return nil, err
	}
	cfg.Labels[pod.DebugLabel] = "true"
	cfg.LogPath = logName(in.Container.Name)
	cfg.Linux.SecurityContext.NamespaceOptions.UsernsOptions = users // containerd compares them
	cfg.Mounts = nil
	if in.Hosts != nil {
		cfg.Mounts = []*runtimeapi.Mount{{ContainerPath: in.Hosts.ContainerPath, HostPath: in.Hosts.HostPath, Readonly: in.Hosts.ReadOnly}}
	}
	return cfg, nil
}

// logName returns the name of the container's log, in the log directory of the sandbox: not
// every runtime creates directories for logs.
func logName(container string) string { return container + ".log" }
