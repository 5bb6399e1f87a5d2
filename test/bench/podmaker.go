package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// Label is on every sandbox and container of a PodMaker; its value is Mark.
const Label = "podctl.io/bench"

// Namespace is the namespace of its pods.
const Namespace = "podctl-bench"

// PodMaker makes pods of one container. Its methods are safe for concurrent use.
type PodMaker struct {
	Client  *cri.Client
	Image   string
	Command []string
	// Mark tells the pods from those of others; it is in their names.
	Mark string
	// LogDir is where the directories of their logs are created.
	LogDir string
}

// Pod is a pod of a PodMaker.
type Pod struct {
	Name        string
	SandboxID   string
	ContainerID string // "" before StartContainer
	config      *runtimeapi.PodSandboxConfig
}

// LogPath returns the path of the container's log.
func (p *Pod) LogPath() string { return filepath.Join(p.config.LogDirectory, logName) }

const (
	containerName = "c"
	logName       = "c.log"
)

// Start makes the sandbox and starts the container. With an error, nothing of the pod is left,
// as far as the runtime removes it.
func (b *PodMaker) Start(ctx context.Context, number int) (*Pod, error) {
	p, err := b.RunSandbox(ctx, number)
	if err != nil {
		return nil, err
	}
	if err := b.StartContainer(ctx, p); err != nil {
		return nil, errors.Join(err, b.Remove(context.WithoutCancel(ctx), p))
	}
	return p, nil
}

// RunSandbox makes the sandbox alone.
func (b *PodMaker) RunSandbox(ctx context.Context, number int) (*Pod, error) {
	name := fmt.Sprintf("podctl-bench-%s-%d", b.Mark, number)
	dir := filepath.Join(b.LogDir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p := &Pod{Name: name, config: b.sandboxConfig(name, dir)}
	var err error
	p.SandboxID, err = b.Client.RunPodSandbox(ctx, p.config, "")
	return p, err
}

// StartContainer makes the container in its sandbox, and starts it.
func (b *PodMaker) StartContainer(ctx context.Context, p *Pod) error {
	var err error
	if p.ContainerID, err = b.Client.CreateContainer(ctx, p.SandboxID, b.containerConfig(p), p.config); err != nil {
		return err
	}
	return b.Client.StartContainer(ctx, p.ContainerID)
}

func (b *PodMaker) sandboxConfig(name, logs string) *runtimeapi.PodSandboxConfig {
	uid := string(uuid.NewUUID())
	return &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: name, Uid: uid, Namespace: Namespace},
		Hostname:     name,
		LogDirectory: logs,
		Labels:       map[string]string{pod.NameLabel: name, pod.NamespaceLabel: Namespace, pod.UIDLabel: uid, Label: b.Mark},
		Linux:        &runtimeapi.LinuxPodSandboxConfig{},
	}
}

func (b *PodMaker) containerConfig(p *Pod) *runtimeapi.ContainerConfig {
	labels := maps.Clone(p.config.Labels)
	labels[pod.ContainerNameLabel] = containerName
	return &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: containerName},
		Image:    &runtimeapi.ImageSpec{Image: b.Image, UserSpecifiedImage: b.Image},
		Command:  b.Command,
		LogPath:  logName,
		Labels:   labels,
		Linux:    &runtimeapi.LinuxContainerConfig{},
	}
}

// Remove stops and removes the pod.
func (b *PodMaker) Remove(ctx context.Context, p *Pod) error {
	return b.remove(ctx, p.SandboxID)
}

func (b *PodMaker) remove(ctx context.Context, sandbox string) error {
	if err := b.Client.StopPodSandbox(ctx, sandbox); err != nil {
		return err
	}
	return b.Client.RemovePodSandbox(ctx, sandbox)
}

// sweepTries is how often a removal is tried, sweepPause apart: a busy containerd answers an
// error such as "ttrpc: closed" to a stop of what has just ended.
const (
	sweepTries = 10
	sweepPause = 300 * time.Millisecond
)

// Sweep removes every sandbox of the runtime with the mark.
func (b *PodMaker) Sweep(ctx context.Context) error {
	pods, err := b.Client.ListPods(ctx)
	if err != nil {
		return err
	}
	var marked []string
	for _, p := range pods {
		for _, s := range p.Sandboxes {
			if s.Labels[Label] == b.Mark {
				marked = append(marked, s.ID)
			}
		}
	}
	return sideBySide(len(marked), func(i int) error {
		for try := 1; ; try++ {
			err := b.remove(ctx, marked[i])
			if err == nil || try == sweepTries || ctx.Err() != nil {
				return err
			}
			time.Sleep(sweepPause)
		}
	})
}
