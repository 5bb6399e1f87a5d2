package render

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/podctl/podctl/internal/pod"
)

// The ends of oom_score_adj (pkg/kubelet/qos/policy.go): the higher, the
// sooner the kernel kills.
const (
	guaranteedScore = -997
	bestEffortScore = 1000
	nodeCritical    = "system-node-critical"
)

// oomScoreAdj is fixed for guaranteed, node-critical and best-effort pods. In
// between it falls from 1000 by the share of the node's memory that the
// container requests, and stays strictly between the two
// (GetContainerOOMScoreAdjust in pkg/kubelet/qos/policy.go). capacity is in
// bytes.
func oomScoreAdj(p *v1.Pod, c *v1.Container, capacity int64) (int64, error) {
	if pod.IsCritical(p) && p.Spec.PriorityClassName == nodeCritical {
		return guaranteedScore, nil
	}
	switch pod.QOS(p) {
	case v1.PodQOSGuaranteed:
		return guaranteedScore, nil
	case v1.PodQOSBestEffort:
		return bestEffortScore, nil
	default:
		return burstableScore(p, c, capacity)
	}
}

func burstableScore(p *v1.Pod, c *v1.Container, capacity int64) (int64, error) {
	if capacity <= 0 {
		return 0, errors.New("the node's memory capacity is not known")
	}
	spare := spareRequest(p)
	request := c.Resources.Requests.Memory().Value()
	if isSidecarOf(p, c) {
		// A sidecar dies no sooner than the containers it serves.
		request = max(request, smallestRequest(p))
	}
	score := 1000 - 1000*(request+spare)/capacity
	return min(max(score, 1000+guaranteedScore), bestEffortScore-1), nil
}

// isSidecarOf reports whether c is a restartable init container of the pod;
// restartPolicy Always on a main container makes no sidecar.
func isSidecarOf(p *v1.Pod, c *v1.Container) bool {
	if !pod.IsSidecar(c) {
		return false
	}
	for i := range p.Spec.InitContainers {
		if p.Spec.InitContainers[i].Name == c.Name {
			return true
		}
	}
	return false
}

// spareRequest returns each container's equal part of the memory that the pod
// requests beyond its containers.
func spareRequest(p *v1.Pod) int64 {
	if !resourcehelper.IsPodLevelRequestsSet(p) || p.Spec.Resources.Requests.Memory().IsZero() {
		return 0
	}
	containers := resourcehelper.AggregateContainerRequests(p, resourcehelper.PodResourcesOptions{})
	spare := p.Spec.Resources.Requests.Memory().Value() - containers.Memory().Value()
	return max(spare, 0) / int64(len(p.Spec.Containers)+len(p.Spec.InitContainers))
}

// smallestRequest returns the smallest memory request of the main containers.
func smallestRequest(p *v1.Pod) int64 {
	smallest := p.Spec.Containers[0].Resources.Requests.Memory().Value()
	for i := range p.Spec.Containers {
		smallest = min(smallest, p.Spec.Containers[i].Resources.Requests.Memory().Value())
	}
	return smallest
}
