package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podctl/podctl/internal/cri"
)

// operationNames are the kubelet's names of the runtime's calls
// (pkg/kubelet/kuberuntime/instrumented_services.go).
var operationNames = map[string]string{
	"Version": "version", "Status": "status", "RuntimeConfig": "runtime_config", "UpdateRuntimeConfig": "update_runtime_config",
	"RunPodSandbox": "run_podsandbox", "StopPodSandbox": "stop_podsandbox", "RemovePodSandbox": "remove_podsandbox",
	"PodSandboxStatus": "podsandbox_status", "ListPodSandbox": "list_podsandbox", "PortForward": "port_forward",
	"PodSandboxStats": "podsandbox_stats", "ListPodSandboxStats": "list_podsandbox_stats",
	"UpdatePodSandboxResources": "update_podsandbox_resources",
	"CreateContainer":           "create_container", "StartContainer": "start_container", "StopContainer": "stop_container",
	"RemoveContainer": "remove_container", "ListContainers": "list_containers", "ContainerStatus": "container_status",
	"UpdateContainerResources": "update_container", "ReopenContainerLog": "reopen_container_log",
	"ExecSync": "exec_sync", "Exec": "exec", "Attach": "attach",
	"ContainerStats": "container_stats", "ListContainerStats": "list_container_stats",
	"CheckpointContainer": "checkpoint_container", "GetContainerEvents": "get_container_events",
	"ListMetricDescriptors": "list_metric_descriptors", "ListPodSandboxMetrics": "list_podsandbox_metrics",
	"ListImages": "list_images", "ImageStatus": "image_status", "PullImage": "pull_image", "RemoveImage": "remove_image",
	"ImageFsInfo": "image_fs_info",
}

// operationName returns the kubelet's name of a call, or the CRI's where it has none.
func operationName(method string) string {
	if name, ok := operationNames[method]; ok {
		return name
	}
	return method
}

// otherMethod is the operation of calls that have no series of their own.
const otherMethod = "other"

// observedMethods are the calls of an observer.
var observedMethods = []string{"Version", "Status", "ListPodSandbox", "ListContainers", "PodSandboxStatus", "ContainerStatus", "GetContainerEvents"}

// operation returns the label of a call. An observer has a fixed set of them.
func (m *Metrics) operation(method string) string {
	if m.subsystem == own && !slices.Contains(observedMethods, method) {
		return otherMethod
	}
	return operationName(method)
}

// inFlight returns the calls without an answer, by operation: each one, even without
// a call, but the event stream.
func (m *Metrics) inFlight(calls map[string]cri.Unanswered) map[string]cri.Unanswered {
	methods := slices.Collect(maps.Keys(operationNames))
	if m.subsystem == own {
		methods = observedMethods
	}
	by := map[string]cri.Unanswered{otherMethod: {}}
	for _, method := range methods {
		if method != "GetContainerEvents" {
			by[operationName(method)] = cri.Unanswered{}
		}
	}
	for method, u := range calls {
		name := operationName(method)
		if _, known := by[name]; !known {
			name = otherMethod
		}
		by[name] = by[name].Join(u)
	}
	return by
}

func (m *Metrics) initRuntime() {
	m.operations = m.counters("runtime_operations_total", "Number of runtime calls, by operation.", "operation_type")
	m.operationsDuration = m.histograms("runtime_operations_duration_seconds",
		"Duration of runtime calls in seconds, by operation.", prometheus.ExponentialBuckets(.005, 2.5, 14), "operation_type")
	m.operationsErrors = m.counters("runtime_operations_errors_total", "Number of failed runtime calls, by operation.", "operation_type")
	m.startedPods = m.counter(m.subsystem, "started_pods_total", "Number of sandboxes that the runtime was asked to run.")
	m.startedPodsErrors = m.counter(m.subsystem, "started_pods_errors_total", "Number of sandboxes that the runtime failed to run.")
	if m.subsystem != own {
		return
	}
	for _, name := range append([]string{otherMethod}, observedMethods...) {
		name = operationName(name)
		m.operations.WithLabelValues(name)
		m.operationsDuration.WithLabelValues(name)
		m.operationsErrors.WithLabelValues(name)
	}
}

// RuntimeOperation implements cri.Observer.
func (m *Metrics) RuntimeOperation(method string, took time.Duration, err error) {
	name := m.operation(method)
	m.operations.WithLabelValues(name).Inc()
	m.operationsDuration.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.operationsErrors.WithLabelValues(name).Inc()
	}
	if method != "RunPodSandbox" {
		return
	}
	m.startedPods.Inc()
	if err != nil {
		m.startedPodsErrors.Inc()
	}
}
