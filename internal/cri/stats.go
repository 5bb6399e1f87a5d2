package cri

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerStats are what a runtime reports that a container uses. nil is what it
// does not report.
type ContainerStats struct {
	ID string
	// CPU is the time used since the container was started, as of At.
	CPU *time.Duration
	At  time.Time
	// WorkingSet is memory in bytes, WritableLayer the bytes in the container's own
	// layer.
	WorkingSet, WritableLayer *uint64
	// Memory is memory in bytes with the caches.
	Memory *uint64
}

var containerStatsSpec = wholeListSpec(
	runtimeapi.RuntimeService_ListContainerStats_FullMethodName, &runtimeapi.ListContainerStatsRequest{},
	runtimeapi.RuntimeService_StreamContainerStats_FullMethodName, &runtimeapi.StreamContainerStatsRequest{})

// ContainerStats returns the statistics of all containers that run.
// ErrUnsupported: the runtime has none.
func (c *Client) ContainerStats(ctx context.Context) ([]ContainerStats, error) {
	r := &runtimeapi.ListContainerStatsResponse{}
	if err := c.conn.readList(ctx, containerStatsSpec, r); err != nil {
		return nil, err
	}
	all := make([]ContainerStats, 0, len(r.Stats))
	for _, s := range r.Stats {
		if s != nil {
			all = append(all, toContainerStats(s))
		}
	}
	return all, nil
}

func toContainerStats(s *runtimeapi.ContainerStats) ContainerStats {
	to := ContainerStats{
		ID:         s.GetAttributes().GetId(),
		At:         toTime(s.GetCpu().GetTimestamp()),
		WorkingSet: optional(s.GetMemory().GetWorkingSetBytes()), WritableLayer: optional(s.GetWritableLayer().GetUsedBytes()),
		Memory: optional(s.GetMemory().GetUsageBytes()),
	}
	if used := s.GetCpu().GetUsageCoreNanoSeconds(); used != nil && !to.At.IsZero() {
		cpu := time.Duration(used.Value)
		to.CPU = &cpu
	}
	return to
}

// SandboxStats are the bytes that a sandbox received and sent by its default
// interface, as of At.
type SandboxStats struct {
	ID     string
	Rx, Tx uint64
	At     time.Time
}

var sandboxStatsSpec = wholeListSpec(
	runtimeapi.RuntimeService_ListPodSandboxStats_FullMethodName, &runtimeapi.ListPodSandboxStatsRequest{},
	runtimeapi.RuntimeService_StreamPodSandboxStats_FullMethodName, &runtimeapi.StreamPodSandboxStatsRequest{})

// SandboxStats returns the statistics of the sandboxes whose network the runtime
// reports. ErrUnsupported: the runtime has none.
func (c *Client) SandboxStats(ctx context.Context) ([]SandboxStats, error) {
	r := &runtimeapi.ListPodSandboxStatsResponse{}
	if err := c.conn.readList(ctx, sandboxStatsSpec, r); err != nil {
		return nil, err
	}
	var all []SandboxStats
	for _, s := range r.Stats {
		n := s.GetLinux().GetNetwork()
		rx, tx := n.GetDefaultInterface().GetRxBytes(), n.GetDefaultInterface().GetTxBytes()
		if at := toTime(n.GetTimestamp()); rx != nil && tx != nil && !at.IsZero() {
			all = append(all, SandboxStats{ID: s.GetAttributes().GetId(), Rx: rx.Value, Tx: tx.Value, At: at})
		}
	}
	return all, nil
}

func optional(v *runtimeapi.UInt64Value) *uint64 {
	if v == nil {
		return nil
	}
	return &v.Value
}
