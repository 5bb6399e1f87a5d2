package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

func (f *fakeRuntime) CreateContainer(ctx context.Context, sandboxID string, cfg *runtimeapi.ContainerConfig, sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	name := cfg.Metadata.Name
	if err := f.begin(ctx, call{method: "CreateContainer", container: name, attempt: cfg.Metadata.Attempt}); err != nil {
		return "", err
	}
	if f.refuse != nil {
		if err := f.refuse(cfg); err != nil {
			return "", err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if sandbox == nil || sandboxID != f.status.Sandboxes[0].ID {
		f.violations = append(f.violations, "container created in a sandbox that is not the newest")
	}
	if c := f.status.Container(name); c != nil && c.State == pod.Running {
		f.violations = append(f.violations, "container "+name+" created while it runs")
	}
	f.next++
	c := &pod.ContainerStatus{
		ID: fmt.Sprintf("c%d", f.next), SandboxID: sandboxID, Name: name, Attempt: cfg.Metadata.Attempt, State: pod.Created, CreatedAt: time.Now(),
		Image: cfg.Image.UserSpecifiedImage, ImageID: cfg.Image.Image, Hash: cfg.Annotations[pod.HashAnnotation],
		RestartCount: int32(cfg.Metadata.Attempt), Annotations: cfg.Annotations,
		LogPath: sandbox.GetLogDirectory() + "/" + cfg.LogPath,
	}
	f.status.Containers = slices.Insert(f.status.Containers, 0, c)
	f.programs[c.ID] = f.program(cfg)
	f.done[c.ID] = make(chan struct{})
	return c.ID, nil
}

func (f *fakeRuntime) StartContainer(ctx context.Context, id string) error {
	if err := f.begin(ctx, call{method: "StartContainer", container: f.name(id)}); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c, p := f.container(id), f.programs[id]
	c.StartedAt = time.Now()
	if p.noStart != "" {
		f.exit(c, 128, "StartError")
		return errors.New(p.noStart)
	}
	c.State = pod.Running
	f.poke()
	if p.lifetime > 0 {
		time.AfterFunc(p.lifetime, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.exit(c, p.code, "")
		})
	}
	return nil
}

// exit ends a container that has not ended. The caller holds the mutex.
func (f *fakeRuntime) exit(c *pod.ContainerStatus, code int32, reason string) {
	if c.State == pod.Exited {
		return
	}
	if reason == "" {
		reason = "Completed"
		if code != 0 {
			reason = "Error"
		}
	}
	c.State, c.ExitCode, c.Reason, c.FinishedAt = pod.Exited, code, reason, time.Now()
	close(f.done[c.ID])
	f.poke()
}

func (f *fakeRuntime) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	f.mu.Lock()
	c := f.container(id)
	if c == nil {
		f.mu.Unlock()
		return fs.ErrNotExist
	}
	f.calls = append(f.calls, call{method: "StopContainer", container: c.Name, timeout: int64(grace / time.Second)})
	if f.fail != nil {
		if err := f.fail("StopContainer", c.Name); err != nil {
			f.mu.Unlock()
			return err
		}
	}
	p, done := f.programs[id], f.done[id]
	f.mu.Unlock()
	if grace > 0 && p.onTerm >= 0 {
		select {
		case <-time.After(min(p.onTerm, grace)):
			if p.onTerm <= grace {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.exit(c, p.termCode, "")
				return nil
			}
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	} else {
		select {
		case <-time.After(grace):
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exit(c, 137, "")
	return nil
}

func (f *fakeRuntime) UpdateContainerResources(ctx context.Context, id string, r *runtimeapi.LinuxContainerResources) error {
	detail := fmt.Sprintf("%d/%d/%d", r.CpuShares, r.CpuQuota, r.MemoryLimitInBytes)
	if err := f.begin(ctx, call{method: "UpdateContainerResources", container: f.name(id), detail: detail}); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.container(id).Resources = &pod.Enforced{CPUShares: r.CpuShares, CPUQuota: r.CpuQuota, CPUPeriod: r.CpuPeriod, MemoryLimit: r.MemoryLimitInBytes}
	return nil
}

func (f *fakeRuntime) MemoryUsed(context.Context) (map[string]int64, error) { return f.memory, nil }

func (f *fakeRuntime) RemoveContainer(_ context.Context, id string) error {
	f.read("RemoveContainer")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Containers = slices.DeleteFunc(f.status.Containers, func(c *pod.ContainerStatus) bool { return c.ID == id })
	return nil
}
