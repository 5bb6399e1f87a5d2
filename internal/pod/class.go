package pod

import (
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// CriticalPriority is the lowest priority of a critical pod: that of
// system-cluster-critical (pkg/apis/scheduling/types.go).
const CriticalPriority int32 = 2_000_000_000

// IsStatic reports whether the pod came from a source other than the API
// server, by its annotation (pkg/kubelet/types/pod_update.go). podctl's own
// pods are static only if their manifest says so.
func IsStatic(p *v1.Pod) bool {
	source, ok := p.Annotations[ConfigSourceAnnotation]
	return ok && source != "api"
}

// IsMirror reports whether the pod is an API server's image of a static pod.
func IsMirror(p *v1.Pod) bool {
	_, ok := p.Annotations[ConfigMirrorAnnotation]
	return ok
}

// Priority returns the pod's, 0 if it has none.
func Priority(p *v1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// IsCritical reports whether the pod is static, mirror, or of critical
// priority: such a pod may preempt, and is never preempted by a pod that is
// not.
func IsCritical(p *v1.Pod) bool {
	return IsStatic(p) || IsMirror(p) || Priority(p) >= CriticalPriority
}

// IsSidecar reports whether an init container keeps running beside the
// containers: restartPolicy Always.
func IsSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// IsHostNetwork reports whether the pod shares the node's network namespace.
func IsHostNetwork(p *v1.Pod) bool { return p.Spec.HostNetwork }

// HasUserNamespace reports whether the pod does not share the host's user namespace.
func HasUserNamespace(p *v1.Pod) bool { return p.Spec.HostUsers != nil && !*p.Spec.HostUsers }

// QOS returns the pod's quality-of-service class, computed from its requests and
// limits of cpu and memory: from the pod-level resources if set, else from
// its init and regular containers, whose classes must be equal (ComputePodQOS in
// pkg/apis/core/v1/helper/qos/qos.go). A class already in the status wins.
func QOS(p *v1.Pod) v1.PodQOSClass {
	if p.Status.QOSClass != "" {
		return p.Status.QOSClass
	}
	if resourcehelper.IsPodLevelResourcesSet(p) {
		return qosOf(*p.Spec.Resources)
	}
	var classes []v1.PodQOSClass
	for i := range p.Spec.InitContainers {
		classes = append(classes, qosOf(p.Spec.InitContainers[i].Resources))
	}
	for i := range p.Spec.Containers {
		classes = append(classes, qosOf(p.Spec.Containers[i].Resources))
	}
	return commonClass(classes)
}

// qosOf returns the class of one set of requests and limits. The classes of cpu and memory must be
// equal, else it is Burstable.
func qosOf(r v1.ResourceRequirements) v1.PodQOSClass {
	var classes []v1.PodQOSClass
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		request, limit := r.Requests[name], r.Limits[name]
		switch {
		case !request.Equal(limit):
			return v1.PodQOSBurstable
		case request.IsZero():
			classes = append(classes, v1.PodQOSBestEffort)
		default:
			classes = append(classes, v1.PodQOSGuaranteed)
		}
	}
	return commonClass(classes)
}

// commonClass returns the class that all share, Burstable if they differ, BestEffort if there are
// none.
func commonClass(classes []v1.PodQOSClass) v1.PodQOSClass {
	if len(classes) == 0 {
		return v1.PodQOSBestEffort
	}
	for _, c := range classes {
		if c != classes[0] {
			return v1.PodQOSBurstable
		}
	}
	return classes[0]
}
