package sim

import (
	"cmp"
	"context"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What each running container of a simulated runtime uses, and each sandbox.
const (
	// cpuShare is the part of a core: one in so many nanoseconds.
	cpuShare = 100
	// memoryUsed and layerUsed are in bytes.
	memoryUsed = 1 << 20
	layerUsed  = 4 << 10
	// stalled is the PSI for CPU, in percent.
	stalled = 3.5
	// nanosPerByte is the time in which a sandbox receives and sends one byte: it
	// moves 1,000 a second.
	nanosPerByte = 1_000_000
)

var psi = &runtimeapi.PsiStats{Some: &runtimeapi.PsiData{Avg10: stalled}, Full: &runtimeapi.PsiData{}}

// ListContainerStats answers that each running container uses the same.
func (r *Runtime) ListContainerStats(context.Context, *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.Clock().UnixNano()
	resp := &runtimeapi.ListContainerStatsResponse{}
	for _, c := range r.containers {
		if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
			continue
		}
		resp.Stats = append(resp.Stats, &runtimeapi.ContainerStats{
			Attributes:    &runtimeapi.ContainerAttributes{Id: c.id, Metadata: c.config.GetMetadata(), Labels: c.config.GetLabels()},
			Cpu:           &runtimeapi.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: uint64(max(0, now-c.startedAt)) / cpuShare}, Psi: psi},
			Memory:        &runtimeapi.MemoryUsage{Timestamp: now, WorkingSetBytes: &runtimeapi.UInt64Value{Value: memoryUsed}},
			Swap:          &runtimeapi.SwapUsage{Timestamp: now, SwapUsageBytes: &runtimeapi.UInt64Value{}},
			WritableLayer: &runtimeapi.FilesystemUsage{Timestamp: now, UsedBytes: &runtimeapi.UInt64Value{Value: layerUsed + r.scriptFor(c).WritableLayerBytes}},
		})
	}
	slices.SortFunc(resp.Stats, func(a, b *runtimeapi.ContainerStats) int { return cmp.Compare(a.Attributes.Id, b.Attributes.Id) })
	return resp, nil
}

// ListPodSandboxStats answers that each ready sandbox with an address of its own
// receives and sends the same.
func (r *Runtime) ListPodSandboxStats(context.Context, *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.Clock().UnixNano()
	resp := &runtimeapi.ListPodSandboxStatsResponse{}
	for _, s := range r.sandboxes {
		if !s.ready || s.ip == 0 {
			continue
		}
		moved := &runtimeapi.UInt64Value{Value: uint64(max(0, now-s.createdAt)) / nanosPerByte}
		resp.Stats = append(resp.Stats, &runtimeapi.PodSandboxStats{
			Attributes: &runtimeapi.PodSandboxAttributes{Id: s.id, Metadata: s.config.GetMetadata(), Labels: s.config.GetLabels()},
			Linux: &runtimeapi.LinuxPodSandboxStats{
				Cpu: &runtimeapi.CpuUsage{Timestamp: now, Psi: psi},
				Network: &runtimeapi.NetworkUsage{
					Timestamp: now, DefaultInterface: &runtimeapi.NetworkInterfaceUsage{Name: "eth0", RxBytes: moved, TxBytes: moved},
				},
			},
		})
	}
	slices.SortFunc(resp.Stats, func(a, b *runtimeapi.PodSandboxStats) int { return cmp.Compare(a.Attributes.Id, b.Attributes.Id) })
	return resp, nil
}
