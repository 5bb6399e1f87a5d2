package sim

import (
	"cmp"
	"context"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What each running container of a simulated runtime uses.
const (
	// cpuShare is the part of a core: one in so many nanoseconds.
	cpuShare = 100
	// memoryUsed and layerUsed are in bytes.
	memoryUsed = 1 << 20
	layerUsed  = 4 << 10
)

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
			Cpu:           &runtimeapi.CpuUsage{Timestamp: now, UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: uint64(max(0, now-c.startedAt)) / cpuShare}},
			Memory:        &runtimeapi.MemoryUsage{Timestamp: now, WorkingSetBytes: &runtimeapi.UInt64Value{Value: memoryUsed}},
			WritableLayer: &runtimeapi.FilesystemUsage{Timestamp: now, UsedBytes: &runtimeapi.UInt64Value{Value: layerUsed}},
		})
	}
	slices.SortFunc(resp.Stats, func(a, b *runtimeapi.ContainerStats) int { return cmp.Compare(a.Attributes.Id, b.Attributes.Id) })
	return resp, nil
}
