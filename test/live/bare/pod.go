package bare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Spec is a pod of one container.
type Spec struct {
	Name    string // of the pod
	UID     string // "" is uid-NAME
	Image   string
	Command []string
	LogDir  string // on the host; the container's log is c.log in it
	// HostPort is a port of the host that leads to the pod's port 80; 0 is none.
	HostPort int32
	// Unlabelled omits the labels and the annotation that a kubelet gives its pods.
	Unlabelled bool
}

// Pod is a Spec that was started.
type Pod struct {
	Spec
	SandboxID   string
	ContainerID string
}

// LogPath is the host path of the container's log.
func (s Spec) LogPath() string { return filepath.Join(s.LogDir, "c.log") }

func (s Spec) uid() string { return cmp.Or(s.UID, "uid-"+s.Name) }

func (s Spec) sandbox() *runtimeapi.PodSandboxConfig {
	config := &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: s.Name, Uid: s.uid(), Namespace: "default"},
		Hostname:     s.Name,
		LogDirectory: s.LogDir,
		Labels:       s.labels(nil),
		Linux:        &runtimeapi.LinuxPodSandboxConfig{CgroupParent: CgroupParent()},
	}
	if !s.Unlabelled {
		config.Annotations = map[string]string{"kubernetes.io/config.source": "api"}
	}
	if s.HostPort != 0 {
		config.PortMappings = []*runtimeapi.PortMapping{{HostPort: s.HostPort, ContainerPort: 80}}
	}
	return config
}

// CgroupParent returns the cgroup parent of a sandbox: "", the runtime's own, unless
// hack/runtime has it use the systemd driver, with which containerd's own is refused by runc.
func CgroupParent() string {
	if _, err := os.Stat("/run/systemd/system"); err != nil || os.Getenv("PODCTL_DEV_CGROUPS") == "cgroupfs" {
		return ""
	}
	return "k8s.io.slice"
}

func (s Spec) container() *runtimeapi.ContainerConfig {
	return &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "c"},
		Image:    &runtimeapi.ImageSpec{Image: s.Image, UserSpecifiedImage: s.Image},
		Command:  s.Command,
		LogPath:  "c.log",
		Labels:   s.labels(map[string]string{"io.kubernetes.container.name": "c"}),
		Linux:    &runtimeapi.LinuxContainerConfig{},
	}
}

// labels are those that a kubelet gives a pod, with more for a container.
func (s Spec) labels(more map[string]string) map[string]string {
	if s.Unlabelled {
		return nil
	}
	labels := map[string]string{
		"io.kubernetes.pod.name": s.Name, "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": s.uid(),
	}
	maps.Copy(labels, more)
	return labels
}

// Start makes the sandbox and starts the container. What was made is in the
// returned pod, also with an error.
func (c *Client) Start(ctx context.Context, spec Spec) (*Pod, error) {
	p, err := c.RunSandbox(ctx, spec)
	if err == nil {
		err = c.StartContainer(ctx, p)
	}
	return p, err
}

// StartAs makes and starts a pod of these configurations, which has no Spec.
func (c *Client) StartAs(ctx context.Context, sandbox *runtimeapi.PodSandboxConfig, container *runtimeapi.ContainerConfig) (*Pod, error) {
	p := &Pod{}
	err := c.runSandbox(ctx, p, sandbox)
	if err == nil {
		err = c.startContainer(ctx, p, sandbox, container)
	}
	return p, err
}

// RunSandbox makes the sandbox alone: the first half of Start.
func (c *Client) RunSandbox(ctx context.Context, spec Spec) (*Pod, error) {
	p := &Pod{Spec: spec}
	return p, c.runSandbox(ctx, p, spec.sandbox())
}

func (c *Client) runSandbox(ctx context.Context, p *Pod, config *runtimeapi.PodSandboxConfig) error {
	sandbox, err := c.Runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		return fmt.Errorf("run sandbox: %w", err)
	}
	p.SandboxID = sandbox.PodSandboxId
	return nil
}

// StartContainer makes the container in its sandbox, and starts it.
func (c *Client) StartContainer(ctx context.Context, p *Pod) error {
	return c.startContainer(ctx, p, p.sandbox(), p.container())
}

func (c *Client) startContainer(ctx context.Context, p *Pod, sandbox *runtimeapi.PodSandboxConfig, config *runtimeapi.ContainerConfig) error {
	container, err := c.Runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: p.SandboxID, Config: config, SandboxConfig: sandbox,
	})
	if err != nil {
		return fmt.Errorf("create container: %w", err)
	}
	p.ContainerID = container.ContainerId
	if _, err := c.Runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: p.ContainerID}); err != nil {
		return fmt.Errorf("start container: %w", err)
	}
	return nil
}

// StopContainer stops the container; the runtime kills it after timeout seconds.
func (c *Client) StopContainer(ctx context.Context, p *Pod, timeout int64) error {
	_, err := c.Runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: p.ContainerID, Timeout: timeout})
	return err
}

// Status returns the container's status.
func (c *Client) Status(ctx context.Context, p *Pod) (*runtimeapi.ContainerStatus, error) {
	resp, err := c.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: p.ContainerID})
	return resp.GetStatus(), err
}

// Stop stops the sandbox, and with it a container that still runs.
func (c *Client) Stop(ctx context.Context, p *Pod) error {
	_, err := c.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.SandboxID})
	return err
}

// Remove removes the sandbox, and with it the container.
func (c *Client) Remove(ctx context.Context, p *Pod) error {
	_, err := c.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.SandboxID})
	return err
}

// endTime is how long End tries, and endPeriod the time between two tries.
const (
	endTime   = 2 * time.Minute
	endPeriod = 200 * time.Millisecond
)

// End stops and removes the pod. As a kubelet does, it tries again what the runtime fails:
// a busy containerd answers an error such as "ttrpc: closed" to a stop of what has ended.
func (c *Client) End(ctx context.Context, p *Pod) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	for {
		err := c.Stop(ctx, p)
		if err == nil {
			err = c.Remove(ctx, p)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end %s: %w", p.Name, err)
		case <-time.After(endPeriod):
		}
	}
}

// WaitExited returns when the pod's container has exited.
func (c *Client) WaitExited(ctx context.Context, p *Pod) error {
	for {
		status, err := c.Status(ctx, p)
		if err == nil && status.State == runtimeapi.ContainerState_CONTAINER_EXITED {
			return nil
		}
		if err == nil {
			select {
			case <-time.After(pollEvery):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return fmt.Errorf("wait for %s: %w", p.Name, err)
	}
}

// pollEvery is how often WaitExited asks.
const pollEvery = 10 * time.Millisecond
