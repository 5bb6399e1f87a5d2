package podsync_test

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// fakeHost is a node without cgroups, on which every volume is there. The
// files of pods are real.
type fakeHost struct {
	*volume.Manager
	mu    sync.Mutex
	steps []string
	err   map[string]error
	// enforced is what the pod's cgroup has, used the memory that it uses.
	enforced pod.CgroupAmounts
	used     int64
}

func (h *fakeHost) step(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, name)
	return h.err[name]
}

func (h *fakeHost) Parent(p *v1.Pod) string { return "/kubepods/pod" + string(p.UID) }

func (h *fakeHost) Ensure(context.Context, *v1.Pod) error { return h.step("cgroup") }

// The cgroup has what the limits of the pod amount to, and enforces what was written
// last.
func (h *fakeHost) Wanted(p *v1.Pod) pod.CgroupAmounts { return cgroup.PodLimits(p).Amounts() }

func (h *fakeHost) Enforced(*v1.Pod) (pod.CgroupAmounts, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.enforced, nil
}

func (h *fakeHost) MemoryUsed(*v1.Pod) (int64, error) { return h.used, nil }

func (h *fakeHost) Resize(_ context.Context, _ *v1.Pod, a pod.CgroupAmounts) error {
	h.mu.Lock()
	if a.CPUShares != 0 {
		h.enforced.CPUShares = a.CPUShares
	}
	if a.CPUQuota != 0 {
		h.enforced.CPUQuota = a.CPUQuota
	}
	if a.Memory != 0 {
		h.enforced.Memory = a.Memory
	}
	h.mu.Unlock()
	return h.step(fmt.Sprintf("cgroup %d/%d/%d", a.CPUShares, a.CPUQuota, a.Memory))
}

func (h *fakeHost) Remove(context.Context, types.UID) error { return h.step("remove cgroup") }

func (h *fakeHost) Unmount(context.Context, types.UID) error {
	return h.step("unmount")
}

func (h *fakeHost) Mount(_ context.Context, p *v1.Pod, _ pod.VolumeInput) (map[string]string, error) {
	if err := h.CreatePod(p.UID); err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for i := range p.Spec.Volumes {
		paths[p.Spec.Volumes[i].Name] = "/volumes/" + p.Spec.Volumes[i].Name
	}
	return paths, h.step("mount")
}

func (h *fakeHost) BindSubPath(types.UID, string, string, string) error { return h.step("subPath") }

// eventLog keeps events as "reason container: message".
type eventLog struct {
	mu   sync.Mutex
	list []event.Event
}

func (l *eventLog) Event(_ *v1.Pod, e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

func (l *eventLog) reasons() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, e := range l.list {
		out = append(out, e.Reason)
	}
	return out
}
