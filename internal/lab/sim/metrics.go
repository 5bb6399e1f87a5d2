package sim

import (
	"context"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

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
