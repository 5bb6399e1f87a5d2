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

// baseLabels are those of every metric.
var baseLabels = []string{"pod", "namespace", "container", "id", "image"}

// families are the metrics of containerd 2.4, by the labels and label values that they have
// beside baseLabels. Names are without "container_".
var families = []struct {
	labels, values []string
	names          string
}{
	{names: "cpu_user_seconds_total cpu_system_seconds_total cpu_usage_seconds_total cpu_cfs_periods_total cpu_cfs_throttled_periods_total cpu_cfs_throttled_seconds_total"},
	{names: "memory_cache memory_rss memory_kernel_usage memory_mapped_file memory_swap memory_failcnt memory_usage_bytes memory_max_usage_bytes memory_working_set_bytes memory_total_active_file_bytes memory_total_inactive_file_bytes oom_events_total"},
	{labels: []string{"failure_type", "scope"}, values: []string{"pgfault", "container"}, names: "memory_failures_total"},
	{labels: []string{"device"}, values: []string{"/dev/sim"}, names: "fs_inodes_free fs_inodes_total fs_limit_bytes fs_usage_bytes fs_reads_bytes_total fs_reads_total fs_writes_bytes_total fs_writes_total"},
	{labels: []string{"device", "major", "minor", "operation"}, values: []string{"/dev/sim", "0", "0", "Read"}, names: "blkio_device_usage_total"},
	{names: "processes file_descriptors sockets threads_max threads last_seen start_time_seconds"},
	{labels: []string{"ulimit"}, values: []string{"max_open_files"}, names: "ulimits_soft"},
	{names: "spec_cpu_period spec_cpu_shares spec_memory_limit_bytes spec_memory_reservation_limit_bytes spec_memory_swap_limit_bytes"},
}

// sandboxFamilies are the metrics of a sandbox's network, likewise.
var sandboxFamilies = []string{
	"network_receive_bytes_total", "network_receive_packets_total", "network_receive_packets_dropped_total", "network_receive_errors_total",
	"network_transmit_bytes_total", "network_transmit_packets_total", "network_transmit_packets_dropped_total", "network_transmit_errors_total",
}

// ListMetricDescriptors describes the metrics of ListPodSandboxMetrics.
func (r *Runtime) ListMetricDescriptors(context.Context, *runtimeapi.ListMetricDescriptorsRequest) (*runtimeapi.ListMetricDescriptorsResponse, error) {
	resp := &runtimeapi.ListMetricDescriptorsResponse{}
	add := func(name string, labels ...string) {
		resp.Descriptors = append(resp.Descriptors, &runtimeapi.MetricDescriptor{
			Name: "container_" + name, Help: "Simulated: " + strings.ReplaceAll(name, "_", " ") + ".", LabelKeys: append(slices.Clone(baseLabels), labels...),
		})
	}
	for _, f := range families {
		for name := range strings.FieldsSeq(f.names) {
			add(name, f.labels...)
		}
	}
	for _, name := range sandboxFamilies {
		add(name, "interface")
	}
	return resp, nil
}

// ListPodSandboxMetrics answers the metrics of the ready sandboxes and their running containers.
func (r *Runtime) ListPodSandboxMetrics(context.Context, *runtimeapi.ListPodSandboxMetricsRequest) (*runtimeapi.ListPodSandboxMetricsResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	resp, running := &runtimeapi.ListPodSandboxMetricsResponse{}, r.runningBySandbox()
	for _, s := range r.sandboxes {
		if !s.ready {
			continue
		}
		pod := &runtimeapi.PodSandboxMetrics{PodSandboxId: s.id}
		for _, name := range sandboxFamilies {
			moved := uint64(0)
			if s.ip != 0 && strings.Contains(name, "_bytes_") {
				moved = r.bytesMoved(s)
			}
			pod.Metrics = append(pod.Metrics, r.metric(name, moved, s, "POD", s.id, "", "eth0"))
		}
		for _, c := range running[s] {
			pod.ContainerMetrics = append(pod.ContainerMetrics, r.containerMetrics(c))
		}
		resp.PodMetrics = append(resp.PodMetrics, pod)
	}
	slices.SortFunc(resp.PodMetrics, func(a, b *runtimeapi.PodSandboxMetrics) int { return strings.Compare(a.PodSandboxId, b.PodSandboxId) })
	return resp, nil
}

// containerMetrics are those of a running container. r.mu is held.
func (r *Runtime) containerMetrics(c *container) *runtimeapi.ContainerMetrics {
	limits, memory := c.config.GetLinux().GetResources(), c.process.memory.Load()
	values := map[string]uint64{
		"cpu_usage_seconds_total": r.cpuUsed(c) / 1e9, "cpu_user_seconds_total": r.cpuUsed(c) / 1e9,
		"memory_rss": memory, "memory_usage_bytes": memory, "memory_working_set_bytes": memory, "memory_max_usage_bytes": memory,
		"processes": 1, "threads": 1, "last_seen": uint64(r.opts.Clock().Unix()), "start_time_seconds": uint64(c.startedAt / 1e9),
		"fs_usage_bytes":  layerUsed + r.scriptFor(c).WritableLayerBytes,
		"spec_cpu_period": uint64(limits.GetCpuPeriod()), "spec_cpu_shares": uint64(limits.GetCpuShares()),
		"spec_memory_limit_bytes": uint64(limits.GetMemoryLimitInBytes()), "spec_memory_swap_limit_bytes": uint64(limits.GetMemorySwapLimitInBytes()),
	}
	all := &runtimeapi.ContainerMetrics{ContainerId: c.id}
	for _, f := range families {
		for name := range strings.FieldsSeq(f.names) {
			all.Metrics = append(all.Metrics, r.metric(name, values[name], c.sandbox, c.config.GetMetadata().GetName(), c.id, c.image.ref, f.values...))
		}
	}
	return all
}

func (r *Runtime) metric(name string, n uint64, s *sandbox, container, id, image string, labels ...string) *runtimeapi.Metric {
	kind := runtimeapi.MetricType_GAUGE
	if strings.HasSuffix(name, "_total") {
		kind = runtimeapi.MetricType_COUNTER
	}
	m := s.config.GetMetadata()
	return &runtimeapi.Metric{
		Name: "container_" + name, Timestamp: r.opts.Clock().UnixNano(), MetricType: kind, Value: value(n),
		LabelValues: append([]string{m.GetName(), m.GetNamespace(), container, id, image}, labels...),
	}
}
