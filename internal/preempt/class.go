package preempt

import (
	v1 "k8s.io/api/core/v1"
)

// class is a QoS class in the order in which the kubelet looks for victims:
// the dearest first.
type class uint8

const (
	guaranteed class = iota
	burstable
	bestEffort
	// classes is their number; a pod whose status names another class is never
	// a victim.
	classes
)

var qosOf = [classes]v1.PodQOSClass{v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort}

func classOf(qos v1.PodQOSClass) class {
	for c, q := range qosOf {
		if q == qos {
			return class(c)
		}
	}
	return classes
}
