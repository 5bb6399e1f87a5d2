package pod

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// QOS returns the pod's quality-of-service class, computed from its requests and
// limits of cpu and memory: from the pod's own where it has a resources
// field, else from those of all its containers (pkg/apis/core/v1/helper/qos/qos.go). A class
// already in the status wins.
func QOS(p *v1.Pod) v1.PodQOSClass {
	if p.Status.QOSClass != "" {
		return p.Status.QOSClass
	}
	var sum qosSum
	if r := p.Spec.Resources; r != nil {
		sum.add(*r)
		return sum.class()
	}
	for i := range p.Spec.InitContainers {
		sum.add(p.Spec.InitContainers[i].Resources)
	}
	for i := range p.Spec.Containers {
		sum.add(p.Spec.Containers[i].Resources)
	}
	return sum.class()
}

// qosSum adds up what the class depends on. The zero value is an empty sum.
type qosSum struct {
	requests, limits map[v1.ResourceName]resource.Quantity
	// partly: some container lacks a cpu or memory limit.
	partly bool
}

var qosResources = [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}

func (s *qosSum) add(r v1.ResourceRequirements) {
	if s.requests == nil {
		s.requests = map[v1.ResourceName]resource.Quantity{}
		s.limits = map[v1.ResourceName]resource.Quantity{}
	}
	for _, name := range qosResources {
		addPositive(s.requests, r.Requests, name)
		if !addPositive(s.limits, r.Limits, name) {
			s.partly = true
		}
	}
}

func addPositive(sum, list v1.ResourceList, name v1.ResourceName) bool {
	q, ok := list[name]
	if !ok || q.Sign() <= 0 {
		return false
	}
	total := sum[name]
	total.Add(q)
	sum[name] = total
	return true
}

func (s *qosSum) class() v1.PodQOSClass {
	if len(s.requests) == 0 && len(s.limits) == 0 {
		return v1.PodQOSBestEffort
	}
	if s.partly || len(s.requests) != len(s.limits) {
		return v1.PodQOSBurstable
	}
	for name, limit := range s.limits {
		if request, ok := s.requests[name]; !ok || request.Cmp(limit) != 0 {
			return v1.PodQOSBurstable
		}
	}
	return v1.PodQOSGuaranteed
}
