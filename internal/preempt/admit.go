package preempt

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// Decision is the answer to whether a pod may run on a node.
type Decision struct {
	// Admitted: the pod fits, or will when Plan's victims are gone.
	Admitted bool `json:"admitted"`
	// Reason and Message are the kubelet's, for the status of a pod that is not
	// admitted (phase Failed); else "".
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Failures is all that stands against the pod as the node is now, in the
	// kubelet's order. Reason is the first that counts: a critical pod is not
	// rejected for resources.
	Failures []Failure `json:"failures,omitempty"`
	// Usage is the node's arithmetic; empty if the kubelet does not come to it.
	Usage []Usage `json:"usage,omitempty"`
	// Ignored are extended resources that the pod asks for and the node does not
	// have: the kubelet does not mind.
	Ignored []v1.ResourceName `json:"ignored,omitempty"`
	// Unchecked is what could not be looked at, for want of facts.
	Unchecked []string `json:"unchecked,omitempty"`
	// Plan has a verdict on every other pod. It is nil if the pod is rejected for
	// something that no eviction changes.
	Plan *Result `json:"plan,omitempty"`
}

// Detail says more about Reason than the kubelet does, "" if there is no more to
// say.
func (d *Decision) Detail() string {
	for _, f := range d.Failures {
		if f.Reason() == d.Reason && f.Detail != "" {
			return f.Detail
		}
	}
	return ""
}

// HostPort returns the port for which the pod is rejected, and the pod that has it; nil if
// it is not rejected for one.
func (d *Decision) HostPort() *event.HostPort {
	for _, f := range d.Failures {
		if f.Reason() == d.Reason && f.HostPort != nil {
			return f.HostPort
		}
	}
	return nil
}

// Admit answers whether the pod may run on the node beside the pods that are
// active there (itself may be among them). Of the node count its name, labels,
// NoExecute taints, allocatable, features and operating system; a resource that
// allocatable does not name is not there, which for "pods" means that no pod
// fits. It is the kubelet's predicateAdmitHandler.Admit
// (pkg/kubelet/lifecycle/predicate.go); its other admission handlers (eviction
// pressure, sysctls, AppArmor, topology …) are no business of this package.
func Admit(p *v1.Pod, node *v1.Node, pods []*v1.Pod) *Decision {
	others := without(pods, p)
	if f := Forbidden(p, node); f != nil {
		return reject(&Decision{Failures: []Failure{*f}}, *f)
	}
	d := &Decision{}
	var checked *v1.Pod
	checked, d.Ignored = withoutMissing(p, node.Status.Allocatable)
	d.Usage = usage(checked, node.Status.Allocatable, loadOf(others))
	for _, u := range d.Usage {
		if u.Short() > 0 {
			d.Failures = append(d.Failures, ShortOf(u))
		}
	}
	failures, unchecked := constraints(p, node, others)
	d.Failures, d.Unchecked = append(d.Failures, failures...), unchecked

	left, plan := Resolve(p, others, d.Failures)
	d.Plan = plan
	switch {
	case len(left) > 0:
		return reject(d, left[0])
	case plan.Err() != nil:
		d.Reason = UnexpectedAdmissionError
		d.Message = "Unexpected error while attempting to recover from admission failure: " + plan.Err().Error()
	default:
		d.Admitted = true
	}
	return d
}

func reject(d *Decision, f Failure) *Decision {
	d.Reason, d.Message = f.Reason(), f.Message()
	return d
}

// Resolve is what the kubelet does about failures: it plans evictions for a
// critical pod that lacks resources only, and otherwise says which failures
// remain. The plan is nil if no eviction could change them. It is
// CriticalPodAdmissionHandler.HandleAdmissionFailure
// (pkg/kubelet/preemption/preemption.go), without killing any pod.
func Resolve(p *v1.Pod, pods []*v1.Pod, failures []Failure) (left []Failure, plan *Result) {
	need, resourcesOnly := needs(failures)
	switch {
	case !pod.IsCritical(p) && resourcesOnly:
		return failures, Plan(p, pods, need)
	case !pod.IsCritical(p):
		return failures, nil
	case !resourcesOnly:
		return filterFailures(failures), nil
	}
	return nil, Plan(p, pods, need)
}

// filterFailures drops the shortages.
func filterFailures(failures []Failure) []Failure {
	var left []Failure
	for _, f := range failures {
		if f.Shortage == nil {
			left = append(left, f)
		}
	}
	return left
}
