package pod

import (
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

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
