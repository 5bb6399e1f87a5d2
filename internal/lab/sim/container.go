package sim

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// container is a container. Its fields are under Runtime.mu; process and what
// comes before it never change once set.
type container struct {
	id, name  string
	sandbox   *sandbox
	config    *runtimeapi.ContainerConfig
	image     *image
	logPath   string // "" where nothing is logged
	createdAt int64
	process   *process // nil before the start
	exited    chan struct{}

	startedAt, finishedAt int64
	state                 runtimeapi.ContainerState
	exitCode              int32
	reason, message       string
	signalled             bool // by a StopContainer with a timeout
}

// CreateContainer creates a container of an image that the runtime holds.
func (r *Runtime) CreateContainer(_ context.Context, req *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandbox(req.PodSandboxId)
	if s == nil {
		return nil, errorf(codes.NotFound, "failed to find sandbox id %q: not found", req.PodSandboxId)
	}
	if !s.ready {
		return nil, errorf(codes.Unknown, "sandbox container %q is not running", s.id)
	}
	m, sm := req.GetConfig().GetMetadata(), req.GetSandboxConfig().GetMetadata()
	switch {
	case m == nil:
		return nil, errorf(codes.Unknown, "container config must include metadata")
	case sm == nil:
		return nil, errorf(codes.Unknown, "pod sandbox config must include metadata")
	}
	id := r.newID()
	name := strings.Join([]string{m.Name, sm.Name, sm.Namespace, sm.Uid, strconv.Itoa(int(m.Attempt))}, "_")
	if other, taken := r.names[name]; taken {
		return nil, errorf(codes.Unknown, "failed to reserve container name %q; check if another CreateContainer request is in progress: name %q is reserved for %q", name, name, other)
	}
	ref := req.Config.GetImage().GetImage()
	img := r.resolve(ref)
	if img == nil {
		return nil, errorf(codes.NotFound, "failed to resolve image %q: not found", ref)
	}
	if err := invalidConfig(req.Config); err != nil {
		return nil, errorf(codes.Unknown, "failed to generate container %q spec: %v", id, err)
	}
	config := req.Config
	for n, m := range config.Mounts {
		if m.Image == nil {
			continue
		}
		volume := r.resolve(m.Image.Image)
		if volume == nil {
			return nil, errorf(codes.NotFound, "failed to mount image volume: failed to resolve image %q: not found", m.Image.Image)
		}
		if config == req.Config {
			config = proto.CloneOf(config)
		}
		config.Mounts[n].Image.ImageRef = volume.id
	}
	c := &container{id: id, name: name, sandbox: s, config: config, image: img, exited: make(chan struct{})}
	if err := r.scriptFor(c).CreateErr; err != nil {
		return nil, err
	}
	if dir := req.SandboxConfig.GetLogDirectory(); dir != "" && req.Config.LogPath != "" {
		c.logPath = filepath.Join(dir, req.Config.LogPath)
	}
	c.createdAt = r.stamp()
	r.names[name] = id
	r.containers[id] = c
	answer := &runtimeapi.CreateContainerResponse{ContainerId: id}
	r.known.Learn(req, answer)
	r.emit(id, s, runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT)
	return answer, nil
}

// invalidConfig is why containerd refuses a container's config.
func invalidConfig(c *runtimeapi.ContainerConfig) error {
	sc := c.GetLinux().GetSecurityContext()
	if sc.GetRunAsGroup() != nil && sc.GetRunAsUser() == nil && sc.GetRunAsUsername() == "" {
		return fmt.Errorf("user group %q is specified without user", strconv.FormatInt(sc.RunAsGroup.Value, 10))
	}
	if _, known := users[sc.GetRunAsUsername()]; !known && sc.GetRunAsUsername() != "" {
		return fmt.Errorf("unable to find user %s: no matching entries in passwd file", sc.RunAsUsername)
	}
	for _, m := range c.GetMounts() {
		switch {
		case m.RecursiveReadOnly && !m.Readonly:
			return errors.New("recursive read-only mount requires the mount to be read-only")
		case m.RecursiveReadOnly && m.Propagation != runtimeapi.MountPropagation_PROPAGATION_PRIVATE:
			return fmt.Errorf("recursive read-only mount requires the propagation to be private, not %s", m.Propagation)
		case m.Image != nil && !m.Readonly:
			return fmt.Errorf("readonly must be true while mount image: %s", m.ContainerPath)
		case m.ImageSubPath != "" && !strings.Contains(imageFiles, path.Join("/", m.ImageSubPath)+"/"):
			return fmt.Errorf("image mount %q: sub-path %q does not exist", m.ContainerPath, m.ImageSubPath)
		}
	}
	return nil
}

// StartContainer starts the process.
func (r *Runtime) StartContainer(_ context.Context, req *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.container(req.ContainerId)
	if c == nil {
		return nil, errorf(codes.NotFound, "an error occurred when try to find container %q: not found", req.ContainerId)
	}
	if c.state != runtimeapi.ContainerState_CONTAINER_CREATED {
		return nil, errorf(codes.Unknown, "failed to set starting state for container %q: container is in %s state", c.id, c.state)
	}
	if !c.sandbox.ready {
		return nil, r.startFailed(c, errorf(codes.Unknown, "sandbox container %q is not running", c.sandbox.id))
	}
	script := r.scriptFor(c)
	if script.StartErr != nil {
		return nil, r.startFailed(c, script.StartErr)
	}
	out, err := openLog(c.logPath, r.opts.Clock)
	if err != nil {
		return nil, r.startFailed(c, errorf(codes.Unknown, "failed to create containerd task: failed to create container loggers: %v", err))
	}
	c.startedAt = r.stamp()
	c.state = runtimeapi.ContainerState_CONTAINER_RUNNING
	c.process = r.newProcess(c, out, script)
	r.emit(c.id, c.sandbox, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
	program := script.program(c)
	r.running.Go(func() { r.run(c, program) })
	return &runtimeapi.StartContainerResponse{}, nil
}

// startFailed makes the container exited, as containerd does.
func (r *Runtime) startFailed(c *container, err error) error {
	c.state = runtimeapi.ContainerState_CONTAINER_EXITED
	c.finishedAt = r.stamp()
	c.exitCode, c.reason, c.message = 128, "StartError", status.Convert(err).Message()
	return err
}

// run is the life of a container's process.
func (r *Runtime) run(c *container, program program) {
	code := c.process.run(program)
	r.mu.Lock()
	defer r.mu.Unlock()
	c.finishedAt = r.stamp()
	c.state = runtimeapi.ContainerState_CONTAINER_EXITED
	c.exitCode = int32(code)
	if c.process.oom {
		c.reason = "OOMKilled"
	}
	close(c.exited)
	r.emit(c.id, c.sandbox, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
}

// StopContainer sends the stop signal, waits, and kills.
func (r *Runtime) StopContainer(ctx context.Context, req *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	r.mu.Lock()
	c := r.container(req.ContainerId)
	r.mu.Unlock()
	if c != nil {
		if err := r.stop(ctx, c, time.Duration(req.Timeout)*time.Second); err != nil {
			return nil, err
		}
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

func (r *Runtime) stop(ctx context.Context, c *container, timeout time.Duration) error {
	r.mu.Lock()
	running := c.state == runtimeapi.ContainerState_CONTAINER_RUNNING
	// A second stop waits, but does not send the signal again.
	first := timeout > 0 && !c.signalled
	c.signalled = c.signalled || first
	r.mu.Unlock()
	if !running {
		return nil
	}
	if timeout > 0 {
		if first {
			c.process.signal(strings.TrimPrefix(c.stopSignal().String(), "SIGNAL_"))
		}
		t := time.NewTimer(timeout)
		defer t.Stop()
		select {
		case <-c.exited:
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-t.C:
		}
	}
	c.process.signal("SIGKILL")
	select {
	case <-c.exited:
		return nil
	case <-ctx.Done():
		return errorf(status.FromContextError(ctx.Err()).Code(),
			"an error occurs during waiting for container %q to be killed: wait container %q: %v", c.id, c.id, ctx.Err())
	}
}

func (c *container) stopSignal() runtimeapi.Signal {
	if s := c.config.StopSignal; s != runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT {
		return s
	}
	return runtimeapi.Signal_SIGNAL_SIGTERM
}

// RemoveContainer kills and removes a container.
func (r *Runtime) RemoveContainer(ctx context.Context, req *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	r.mu.Lock()
	c := r.container(req.ContainerId)
	r.mu.Unlock()
	if c == nil {
		return &runtimeapi.RemoveContainerResponse{}, nil
	}
	if err := r.stop(ctx, c, 0); err != nil {
		return nil, errorf(codeOf(err), "failed to forcibly stop container %q: %v", c.id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(c)
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (r *Runtime) remove(c *container) {
	if _, ok := r.containers[c.id]; !ok {
		return
	}
	delete(r.containers, c.id)
	delete(r.names, c.name)
	r.emit(c.id, c.sandbox, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
}

// codeOf is a status error's code.
func codeOf(err error) codes.Code { return status.Code(err) }

// KillContainer ends a container's process as if somebody on the host had killed it.
func (r *Runtime) KillContainer(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[id]; c != nil && c.state == runtimeapi.ContainerState_CONTAINER_RUNNING {
		c.process.signal("SIGKILL")
	}
}
