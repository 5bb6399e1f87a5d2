package metrics

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
)

// deferredBuckets are those of pod_deferred_resize_duration_seconds.
var deferredBuckets = []float64{5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600}

func (m *Metrics) initResources() {
	m.admitted = m.counters("pod_level_resources_admission_total",
		"Number of admitted pods, by where their resources are (pod_and_container_level, pod_level, container_level, or nowhere) and QoS class.", "config_mode", "qos_class")
	m.deferred = m.histograms("pod_deferred_resize_duration_seconds",
		"Seconds for which a resize waited for room, by how that ended (accepted, reverted) and the priority of the pod.", deferredBuckets, "resolution", "priority_bucket")
}

// Admitted implements node.Observer (recordPodLevelResourcesAdmission in
// pkg/kubelet/kubelet_pods.go).
func (m *Metrics) Admitted(p *v1.Pod) {
	m.admitted.WithLabelValues(configMode(p), strings.ToLower(string(pod.QOS(p)))).Inc()
}

func configMode(p *v1.Pod) string {
	ofContainers := false
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			ofContainers = ofContainers || len(list[i].Resources.Requests)+len(list[i].Resources.Limits) > 0
		}
	}
	switch ofPod := resourcehelper.IsPodLevelResourcesSet(p); {
	case ofPod && ofContainers:
		return "pod_and_container_level"
	case ofPod:
		return "pod_level"
	case ofContainers:
		return "container_level"
	}
	return ""
}

// DeferredResizeEnded implements node.Observer.
func (m *Metrics) DeferredResizeEnded(p *v1.Pod, how node.ResizeResolution, waited time.Duration) {
	m.deferred.WithLabelValues(string(how), priorityBucket(p)).Observe(waited.Seconds())
}

// priorityBucket returns the kubelet's label for a priority (GetPriorityBucketLabel in
// pkg/kubelet/metrics/metrics.go).
func priorityBucket(p *v1.Pod) string {
	switch n := pod.Priority(p); {
	case n >= pod.CriticalPriority:
		return "system-critical"
	case n >= 100_000:
		return "high"
	case n > 0:
		return "medium"
	case n == 0:
		return "normal"
	case n > -1000:
		return "low"
	}
	return "very-low"
}
