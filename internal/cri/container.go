package cri

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// CreateContainer creates a container in a sandbox and returns its id.
// ErrNameReserved: raise the attempt.
func (c *Client) CreateContainer(ctx context.Context, sandboxID string, cfg *runtimeapi.ContainerConfig, sandboxCfg *runtimeapi.PodSandboxConfig) (string, error) {
	req := &runtimeapi.CreateContainerRequest{PodSandboxId: sandboxID, Config: cfg, SandboxConfig: sandboxCfg}
	r, err := c.runtime.CreateContainer(ctx, req)
	if err != nil {
		return "", err
	}
	if r.ContainerId == "" {
		return "", answerError("CreateContainer", objectOf(req), "the runtime answered without an id")
	}
	c.changes.noteCreated(cfg.GetLabels(), r.ContainerId, sandboxID, c.now())
	return r.ContainerId, nil
}

// StartContainer starts a container that was created and never started.
func (c *Client) StartContainer(ctx context.Context, id string) error {
	_, err := c.runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	return err
}

// StopContainer sends the container its stop signal and kills it when grace,
// rounded up to whole seconds, has passed; without grace it kills at once. It
// blocks until the container is gone. One that does not run, or is unknown, is
// no error.
func (c *Client) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	_, err := c.runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: seconds(grace)})
	return gone(err)
}

// RemoveContainer removes a container, killing it first if it runs. One that
// is gone is no error.
func (c *Client) RemoveContainer(ctx context.Context, id string) error {
	_, err := c.runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	return c.removed(id, err)
}

// ContainerStatus reads one container's status, with the message that it left
// when it ended. SandboxID is "": the call does not tell it.
func (c *Client) ContainerStatus(ctx context.Context, id string) (*pod.ContainerStatus, error) {
	r, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return nil, err
	}
	if r.Status == nil {
		return nil, answerError("ContainerStatus", pod.ShortID(id), "the runtime answered without a status")
	}
	return withTerminationMessage(toContainerStatus(r.Status, "")), nil
}

// ExecResult is what a command in a container left behind.
type ExecResult struct {
	Stdout, Stderr []byte
	ExitCode       int32
	// Cut: the runtime may have dropped the end of the output.
	Cut bool
}

// ExecSync runs a command in a container and waits for it. A command that
// exits with another code than 0 is no error; one that took longer than
// timeout, rounded up to whole seconds, is ErrDeadline. Zero is no timeout:
// then ctx should have a deadline.
func (c *Client) ExecSync(ctx context.Context, id string, cmd []string, timeout time.Duration) (ExecResult, error) {
	r, err := c.runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: cmd, Timeout: seconds(timeout)})
	if err != nil {
		return ExecResult{}, err
	}
	// CRI-O answers a command that it killed at its timeout.
	if r.ExitCode == -1 && string(r.Stderr) == "command timed out" {
		e := answerError("ExecSync", pod.ShortID(id), "%s", r.Stderr)
		e.kinds = []error{ErrDeadline}
		return ExecResult{}, e
	}
	return ExecResult{r.Stdout, r.Stderr, r.ExitCode, mayBeCut(r.Stdout, r.Stderr)}, nil
}

const (
	// logPrefix is the length of what CRI-O stores before each line of a command: a
	// time, a stream and a tag.
	logPrefix = len("2006-01-02T15:04:05.000000000+07:00 stdout F ")
	// logChunk is how much of a long line CRI-O stores with one prefix, in bytes.
	logChunk = 8192
)

// mayBeCut reports whether CRI-O may have cut the output: what it stores of it,
// with a prefix for each line, has nearly reached the limit.
func mayBeCut(stdout, stderr []byte) bool {
	size := 0
	for _, out := range [][]byte{stdout, stderr} {
		size += len(out) + (bytes.Count(out, []byte("\n"))+len(out)/logChunk)*logPrefix
	}
	return size >= ExecSyncLimit-1<<16
}

// seconds rounds up: a grace of half a second is not none. Below zero is zero.
func seconds(d time.Duration) int64 {
	return int64((max(d, 0) + time.Second - 1) / time.Second)
}

// UpdateContainerResources gives a running container other resources.
func (c *Client) UpdateContainerResources(ctx context.Context, id string, r *runtimeapi.LinuxContainerResources) error {
	_, err := c.runtime.UpdateContainerResources(ctx, &runtimeapi.UpdateContainerResourcesRequest{ContainerId: id, Linux: r})
	return err
}

// UpdatePodSandboxResources tells the runtime what the sandbox as a whole has now,
// before that is enforced. A runtime that does not want to know is no error.
func (c *Client) UpdatePodSandboxResources(ctx context.Context, id string, overhead, r *runtimeapi.LinuxContainerResources) error {
	_, err := c.runtime.UpdatePodSandboxResources(ctx, &runtimeapi.UpdatePodSandboxResourcesRequest{PodSandboxId: id, Overhead: overhead, Resources: r})
	if errors.Is(err, ErrUnsupported) {
		return nil
	}
	return err
}

// ContainerProcess is what a runtime reports about the processes of a container.
type ContainerProcess struct {
	// PID of the first process in the runtime's PID namespace, 0 if the runtime
	// does not report it or the container is not running.
	PID int
	// PreStop: the container was created with a preStop hook.
	PreStop bool
	// Grace is the grace period with which it was created, nil if unknown.
	Grace *time.Duration
	// StopSignal is the signal by which the runtime asks it to end ("SIGQUIT"), "" where
	// the runtime does not say it.
	StopSignal string
	// Snapshot is containerd's name of the container's file system, Snapshotter what
	// keeps it; "" where the runtime does not report them.
	Snapshot, Snapshotter string
}

// ContainerProcess reads the first process of a container. containerd and
// CRI-O report it in the verbose part of a status.
func (c *Client) ContainerProcess(ctx context.Context, id string) (ContainerProcess, error) {
	r, v, err := c.verboseContainer(ctx, id)
	if err != nil {
		return ContainerProcess{}, err
	}
	annotations := r.GetStatus().GetAnnotations()
	p := ContainerProcess{PreStop: annotations[pod.PreStopAnnotation] != "", StopSignal: stopSignal(r.GetStatus().GetStopSignal())}
	if seconds, err := strconv.ParseInt(annotations[pod.TerminationGraceAnnotation], 10, 32); err == nil {
		grace := time.Duration(seconds) * time.Second
		p.Grace = &grace
	}
	p.PID, p.Snapshot, p.Snapshotter = v.PID, v.Snapshot, v.Snapshotter
	return p, nil
}
