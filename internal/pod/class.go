package pod

import (
	v1 "k8s.io/api/core/v1"
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
