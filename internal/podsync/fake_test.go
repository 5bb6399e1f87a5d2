package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// program is how a container's process behaves.
type program struct {
	lifetime time.Duration // 0 lasts until stopped
	code     int32
	// onTerm is how long after a TERM it exits, with termCode; negative
	// ignores the signal.
	onTerm   time.Duration
	termCode int32
	// noStart fails the start, as a missing command does.
	noStart string
}

// call is one call that changed something.
type call struct {
	method, container string
	timeout           int64
	attempt           uint32
	detail            string
}

func (c call) String() string {
	s := c.method
	if c.container != "" {
		s += " " + c.container
	}
	switch c.method {
	case "CreateContainer":
		s += fmt.Sprintf("#%d", c.attempt)
	case "StopContainer":
		s += fmt.Sprintf(" %ds", c.timeout)
	}
	if c.detail != "" {
		s += " " + c.detail
	}
	return s
}

// fakeRuntime is a runtime of one pod whose processes are scripted and which
// lives in the time of its synctest bubble.
type fakeRuntime struct {
	program func(cfg *runtimeapi.ContainerConfig) program
	execs   func(command []string) (time.Duration, int32)
	// fail is asked before every call that changes something, and fails it
	// with its answer.
	fail func(method, name string) error
	// refuse fails the creation of a container with its answer.
	refuse func(cfg *runtimeapi.ContainerConfig) error
	// images that are present; pulling any other fails with pullError.
	images    map[string]pod.Image
	pullError error
	// password is what pulls need, if any; users are the senders.
	password string
	users    []string
	// ip is the address of every sandbox that is not on the host's network.
	ip string
	// memory is what containers use, by id.
	memory map[string]int64
	// latency of every call but the stops.
	latency time.Duration

	mu         sync.Mutex
	calls      []call
	reads      []string
	status     pod.Status
	programs   map[string]program
	done       map[string]chan struct{}
	changed    chan struct{}
	next       int
	violations []string
}

func newFake() *fakeRuntime {
	return &fakeRuntime{
		program:  func(*runtimeapi.ContainerConfig) program { return program{} },
		images:   map[string]pod.Image{testImage: {ID: "sha256:busybox", Size: 1 << 20}},
		ip:       "10.88.0.7",
		latency:  20 * time.Millisecond,
		programs: map[string]program{}, done: map[string]chan struct{}{}, changed: make(chan struct{}, 1),
		status: pod.Status{UID: testUID, Name: "p", Namespace: "default"},
	}
}

const (
	testUID   = types.UID("7e7e0000-0000-4000-8000-00000000aaaa")
	testImage = "docker.io/library/busybox:latest"
)

func (f *fakeRuntime) begin(ctx context.Context, c call) error {
	time.Sleep(f.latency)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.fail != nil {
		return f.fail(c.method, c.container)
	}
	return nil
}

func (f *fakeRuntime) read(method string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = append(f.reads, method)
}

// poke says that something changed, as a listing would show.
func (f *fakeRuntime) poke() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// snapshot is the pod's status as the runtime would tell it now.
func (f *fakeRuntime) snapshot() *pod.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := f.status
	st.At = time.Now()
	st.IPs = nil
	st.Sandboxes, st.Containers = nil, nil
	for _, s := range f.status.Sandboxes {
		c := *s
		st.Sandboxes = append(st.Sandboxes, &c)
		if len(st.Sandboxes) == 1 && c.State == pod.Running {
			st.IPs = c.IPs
		}
	}
	for _, s := range f.status.Containers {
		c := *s
		st.Containers = append(st.Containers, &c)
	}
	return &st
}

func (f *fakeRuntime) container(id string) *pod.ContainerStatus {
	return f.status.ContainerByID(id)
}

func (f *fakeRuntime) name(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.container(id); c != nil {
		return c.Name
	}
	return id
}

func (f *fakeRuntime) PodStatus(_ context.Context, p *pod.Pod) (*pod.Status, error) {
	f.read("PodStatus")
	st := f.snapshot()
	if len(p.Sandboxes) != 1 || p.Sandboxes[0].ID != st.Sandboxes[0].ID {
		return nil, fmt.Errorf("status of %v asked for", p.Sandboxes)
	}
	return st, nil
}

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

func (f *fakeRuntime) UpdatePodSandboxResources(context.Context, string, *runtimeapi.LinuxContainerResources, *runtimeapi.LinuxContainerResources) error {
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
