package cri

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
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
	// Memory is memory in bytes with the caches, Swap what is swapped out.
	Memory, Swap *uint64
	PSI          pod.PSI
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
		Memory: optional(s.GetMemory().GetUsageBytes()), Swap: optional(s.GetSwap().GetSwapUsageBytes()),
		PSI: toPSI(s.GetCpu(), s.GetMemory(), s.GetIo()),
	}
	if used := s.GetCpu().GetUsageCoreNanoSeconds(); used != nil && !to.At.IsZero() {
		cpu := time.Duration(used.Value)
		to.CPU = &cpu
	}
	return to
}

func toPSI(cpu *runtimeapi.CpuUsage, memory *runtimeapi.MemoryUsage, io *runtimeapi.IoUsage) pod.PSI {
	return pod.PSI{CPU: toStall(cpu.GetPsi()), Memory: toStall(memory.GetPsi()), IO: toStall(io.GetPsi())}
}

func toStall(s *runtimeapi.PsiStats) *pod.Stall {
	if s == nil {
		return nil
	}
	return &pod.Stall{Some: s.GetSome().GetAvg10(), Full: s.GetFull().GetAvg10()}
}

// SandboxStats are what a runtime reports of a sandbox: the bytes that it received and sent
// by its default interface, as of At, and the PSI of its pod. A zero At is an unknown network.
type SandboxStats struct {
	ID     string
	Rx, Tx uint64
	At     time.Time
	PSI    pod.PSI
}

var sandboxStatsSpec = wholeListSpec(
	runtimeapi.RuntimeService_ListPodSandboxStats_FullMethodName, &runtimeapi.ListPodSandboxStatsRequest{},
	runtimeapi.RuntimeService_StreamPodSandboxStats_FullMethodName, &runtimeapi.StreamPodSandboxStatsRequest{})

// SandboxStats returns the statistics of the sandboxes. ErrUnsupported: the runtime has none.
func (c *Client) SandboxStats(ctx context.Context) ([]SandboxStats, error) {
	r := &runtimeapi.ListPodSandboxStatsResponse{}
	if err := c.conn.readList(ctx, sandboxStatsSpec, r); err != nil {
		return nil, err
	}
	var all []SandboxStats
	for _, s := range r.Stats {
		linux := s.GetLinux()
		of := SandboxStats{ID: s.GetAttributes().GetId(), PSI: toPSI(linux.GetCpu(), linux.GetMemory(), linux.GetIo())}
		n := linux.GetNetwork()
		rx, tx := n.GetDefaultInterface().GetRxBytes(), n.GetDefaultInterface().GetTxBytes()
		if at := toTime(n.GetTimestamp()); rx != nil && tx != nil && !at.IsZero() {
			of.Rx, of.Tx, of.At = rx.Value, tx.Value, at
		}
		all = append(all, of)
	}
	return all, nil
}

func optional(v *runtimeapi.UInt64Value) *uint64 {
	if v == nil {
		return nil
	}
	return &v.Value
}
