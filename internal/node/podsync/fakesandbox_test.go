package podsync_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

func (f *fakeRuntime) RunPodSandbox(ctx context.Context, cfg *runtimeapi.PodSandboxConfig, _ string) (string, error) {
	if err := f.begin(ctx, call{method: "RunPodSandbox", attempt: cfg.Metadata.Attempt}); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	s := &pod.SandboxStatus{
		ID: fmt.Sprintf("s%d", f.next), Attempt: cfg.Metadata.Attempt, State: pod.Running, CreatedAt: time.Now(), IPs: []string{f.ip},
		HostNetwork: cfg.Linux.SecurityContext.NamespaceOptions.Network == runtimeapi.NamespaceMode_NODE,
	}
	if s.HostNetwork {
		s.IPs = nil
	}
	f.status.Sandboxes = slices.Insert(f.status.Sandboxes, 0, s)
	f.poke()
	return s.ID, nil
}

func (f *fakeRuntime) StopPodSandbox(ctx context.Context, id string) error {
	if err := f.begin(ctx, call{method: "StopPodSandbox"}); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.status.Sandboxes {
		if s.ID == id && s.State == pod.Running {
			s.State = pod.Exited
			f.poke()
		}
	}
	for _, c := range f.status.Containers {
		if c.SandboxID == id {
			f.exit(c, 137, "Error")
		}
	}
	return nil
}

func (f *fakeRuntime) RemovePodSandbox(_ context.Context, id string) error {
	f.read("RemovePodSandbox")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Sandboxes = slices.DeleteFunc(f.status.Sandboxes, func(s *pod.SandboxStatus) bool { return s.ID == id })
	return nil
}

func (f *fakeRuntime) UpdatePodSandboxResources(context.Context, string, *runtimeapi.LinuxContainerResources, *runtimeapi.LinuxContainerResources) error {
	return nil
}
