package sim

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What each running container of a simulated runtime uses, and each sandbox.
const (
	// cpuShare is the part of a core: one in so many nanoseconds.
	cpuShare = 100
	// memoryUsed and layerUsed are in bytes. A script can grow the memory.
	memoryUsed = 1 << 20
	layerUsed  = 4 << 10
	// stalled is the PSI for CPU, in percent.
	stalled = 3.5
	// nanosPerByte is the time in which a sandbox receives and sends one byte: it
	// moves 1,000 a second.
	nanosPerByte = 1_000_000
)

var psi = &runtimeapi.PsiStats{Some: &runtimeapi.PsiData{Avg10: stalled}, Full: &runtimeapi.PsiData{}}

// ContainerStats answers what a running container uses.
func (r *Runtime) ContainerStats(_ context.Context, req *runtimeapi.ContainerStatsRequest) (*runtimeapi.ContainerStatsResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.container(req.ContainerId)
	switch {
	case c == nil:
		return nil, errorf(codes.NotFound, "failed to find container: not found")
	case c.state != runtimeapi.ContainerState_CONTAINER_RUNNING:
		return nil, errorf(codes.Unknown, "unexpected metrics response: []")
	}
	return &runtimeapi.ContainerStatsResponse{Stats: r.containerStats(c)}, nil
}

// ListContainerStats answers that each running container uses the same.
func (r *Runtime) ListContainerStats(_ context.Context, req *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := req.GetFilter()
	resp := &runtimeapi.ListContainerStatsResponse{}
	for _, c := range r.containers {
		if c.state == runtimeapi.ContainerState_CONTAINER_RUNNING && strings.HasPrefix(c.id, f.GetId()) &&
			strings.HasPrefix(c.sandbox.id, f.GetPodSandboxId()) && selects(f.GetLabelSelector(), c.config.GetLabels()) {
			resp.Stats = append(resp.Stats, r.containerStats(c))
		}
	}
	slices.SortFunc(resp.Stats, func(a, b *runtimeapi.ContainerStats) int { return cmp.Compare(a.Attributes.Id, b.Attributes.Id) })
	return resp, nil
}

// containerStats is what a running container uses. r.mu is held.
func (r *Runtime) containerStats(c *container) *runtimeapi.ContainerStats {
	now := r.opts.Clock().UnixNano()
	return &runtimeapi.ContainerStats{
		Attributes:    &runtimeapi.ContainerAttributes{Id: c.id, Metadata: c.config.GetMetadata(), Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations()},
		Cpu:           &runtimeapi.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: value(r.cpuUsed(c)), Psi: psi},
		Memory:        &runtimeapi.MemoryUsage{Timestamp: now, WorkingSetBytes: value(c.process.memory.Load()), UsageBytes: value(c.process.memory.Load())},
		Swap:          &runtimeapi.SwapUsage{Timestamp: now, SwapUsageBytes: value(0)},
		WritableLayer: &runtimeapi.FilesystemUsage{Timestamp: now, UsedBytes: value(layerUsed + r.scriptFor(c).WritableLayerBytes)},
	}
}

// cpuUsed is in nanoseconds of a core.
func (r *Runtime) cpuUsed(c *container) uint64 {
	return uint64(max(0, r.opts.Clock().UnixNano()-c.startedAt)) / cpuShare
}

// bytesMoved is how much a sandbox with an address of its own has received, and sent.
func (r *Runtime) bytesMoved(s *sandbox) uint64 {
	return uint64(max(0, r.opts.Clock().UnixNano()-s.createdAt)) / nanosPerByte
}

func value(n uint64) *runtimeapi.UInt64Value { return &runtimeapi.UInt64Value{Value: n} }

// PodSandboxStats answers what a ready sandbox with an address of its own uses.
func (r *Runtime) PodSandboxStats(_ context.Context, req *runtimeapi.PodSandboxStatsRequest) (*runtimeapi.PodSandboxStatsResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandbox(req.PodSandboxId)
	switch {
	case s == nil:
		return nil, errorf(codes.NotFound, "an error occurred when trying to find sandbox %s: not found", req.PodSandboxId)
	case !s.ready:
		return nil, errorf(codes.Unknown, "failed to decode pod sandbox metrics %s: failed to get pod sandbox container metrics since sandbox container is not running", s.id)
	}
	return &runtimeapi.PodSandboxStatsResponse{Stats: r.sandboxStats(s, r.runningBySandbox())}, nil
}

// ListPodSandboxStats answers that each ready sandbox with an address of its own
// receives and sends the same.
func (r *Runtime) ListPodSandboxStats(_ context.Context, req *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, running := req.GetFilter(), r.runningBySandbox()
	resp := &runtimeapi.ListPodSandboxStatsResponse{}
	for _, s := range r.sandboxes {
		if s.ready && s.ip != 0 && strings.HasPrefix(s.id, f.GetId()) && selects(f.GetLabelSelector(), s.config.GetLabels()) {
			resp.Stats = append(resp.Stats, r.sandboxStats(s, running))
		}
	}
	slices.SortFunc(resp.Stats, func(a, b *runtimeapi.PodSandboxStats) int { return cmp.Compare(a.Attributes.Id, b.Attributes.Id) })
	return resp, nil
}

// runningBySandbox are the running containers. r.mu is held.
func (r *Runtime) runningBySandbox() map[*sandbox][]*container {
	all := map[*sandbox][]*container{}
	for _, c := range r.containers {
		if c.state == runtimeapi.ContainerState_CONTAINER_RUNNING {
			all[c.sandbox] = append(all[c.sandbox], c)
		}
	}
	return all
}

// sandboxStats is what a ready sandbox uses. r.mu is held.
func (r *Runtime) sandboxStats(s *sandbox, running map[*sandbox][]*container) *runtimeapi.PodSandboxStats {
	now, moved := r.opts.Clock().UnixNano(), value(r.bytesMoved(s))
	cpu, memory := uint64(0), uint64(0)
	for _, c := range running[s] {
		cpu, memory = cpu+r.cpuUsed(c), memory+c.process.memory.Load()
	}
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{Id: s.id, Metadata: s.config.GetMetadata(), Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations()},
		Linux: &runtimeapi.LinuxPodSandboxStats{
			Cpu:    &runtimeapi.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: value(cpu), Psi: psi},
			Memory: &runtimeapi.MemoryUsage{Timestamp: now, WorkingSetBytes: value(memory), UsageBytes: value(memory)},
			Network: &runtimeapi.NetworkUsage{
				Timestamp: now, DefaultInterface: &runtimeapi.NetworkInterfaceUsage{Name: "eth0", RxBytes: moved, TxBytes: moved},
			},
		},
	}
}
