package metrics

import "strings"

// rejectionReasons are the labels of admission_rejections_total, a fixed set:
// each new label would be a series for ever (admissionRejectionReasons in
// pkg/kubelet/kubelet.go).
var rejectionReasons = map[string]bool{
	"AppArmor": true, "PodOSSelectorNodeLabelDoesNotMatch": true, "PodOSNotSupported": true, "InvalidNodeInfo": true,
	"InitContainerRestartPolicyForbidden": true, "SupplementalGroupsPolicyNotSupported": true,
	"UnexpectedAdmissionError": true, "UnknownReason": true, "UnexpectedPredicateFailureType": true,
	"OutOfcpu": true, "OutOfmemory": true, "OutOfephemeral-storage": true, "OutOfpods": true,
	"PodLevelResourcesNotSupported": true, "PodFeatureUnsupported": true, "Evicted": true, "SysctlForbidden": true,
	"TopologyAffinityError": true, "NodeShutdown": true, "VolumeAttachmentLimitExceeded": true,
	"node(s) had taints that the pod didn't tolerate": true,
}

// Rejected counts a rejected pod.
func (m *Metrics) Rejected(reason string) {
	switch {
	case rejectionReasons[reason]:
	case strings.HasPrefix(reason, "OutOf"):
		reason = "OutOfExtendedResources"
	default:
		reason = "Other"
	}
	m.rejections.WithLabelValues(reason).Inc()
}

// Evicted counts an evicted pod; signal is the resource that it exceeded.
func (m *Metrics) Evicted(signal string) { m.evictions.WithLabelValues(signal).Inc() }

// Preempted counts a preempted pod; signal is the insufficient resource, "" if
// there was none.
func (m *Metrics) Preempted(signal string) { m.preemptions.WithLabelValues(signal).Inc() }
