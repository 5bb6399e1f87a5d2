package preempt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/podctl/podctl/internal/pod"
)

// system is the node's operating system.
func system(node *v1.Node) string { return cmp.Or(node.Status.NodeInfo.OperatingSystem, "linux") }

// Forbidden is what the kubelet looks at first, because no eviction helps: nil
// if nothing is in the way (pkg/kubelet/lifecycle/predicate.go). The pod's label,
// not its node selector, is what must name the system.
func Forbidden(p *v1.Pod, node *v1.Node) *Failure {
	if label, ok := p.Labels[v1.LabelOSStable]; ok && label != system(node) {
		return &Failure{
			reason:  PodOSSelectorNodeLabelDoesNotMatch,
			message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
			Detail:  fmt.Sprintf("the pod is labelled %q, the node runs %s", label, system(node)),
		}
	}
	if p.Spec.OS != nil && string(p.Spec.OS.Name) != system(node) {
		return &Failure{
			reason:  PodOSNotSupported,
			message: "Failed to admit pod as the OS field doesn't match node OS",
			Detail:  fmt.Sprintf("the pod is for %q, the node runs %s", p.Spec.OS.Name, system(node)),
		}
	}
	features := node.Status.Features
	able := features != nil && features.SupplementalGroupsPolicy != nil && *features.SupplementalGroupsPolicy
	if wantsStrictGroups(p) && !able && knowsFeatures(node) {
		return &Failure{
			reason:  SupplementalGroupsPolicyNotSupported,
			message: "SupplementalGroupsPolicy=Strict is not supported in this node",
			Detail:  "the runtime cannot do it",
		}
	}
	return nil
}

// wantsStrictGroups reports whether the pod's supplementalGroupsPolicy is Strict.
func wantsStrictGroups(p *v1.Pod) bool {
	context := p.Spec.SecurityContext
	return context != nil && context.SupplementalGroupsPolicy != nil && *context.SupplementalGroupsPolicy == v1.SupplementalGroupsPolicyStrict
}

// knowsFeatures reports whether the node's features are known: the object of a node,
// which has a name, leaves those out that it does not have.
func knowsFeatures(node *v1.Node) bool { return node.Status.Features != nil || node.Name != "" }

// knowsTaints is the same for its taints.
func knowsTaints(node *v1.Node) bool { return node.Spec.Taints != nil || node.Name != "" }

// constraints is what may stand against the pod besides resources, in the
// kubelet's order, and what could not be looked at.
func constraints(p *v1.Pod, node *v1.Node, others []*v1.Pod) (failures []Failure, unchecked []string) {
	if wantsStrictGroups(p) && !knowsFeatures(node) {
		unchecked = append(unchecked, "supplementalGroupsPolicy: whether the node supports Strict is not known")
	}
	if selects(p) {
		if node.Labels == nil {
			unchecked = append(unchecked, "node selector and affinity: the node's labels are not known")
		} else if !matches(p, node) {
			failures = append(failures, predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector", ""))
		}
	}
	if wanted := p.Spec.NodeName; wanted != "" && wanted != node.Name {
		if node.Name == "" {
			unchecked = append(unchecked, "node name: it is not known")
		} else {
			failures = append(failures, predicate("NodeName", "node(s) didn't match the requested node name",
				fmt.Sprintf("the pod is for node %q, this is %q", wanted, node.Name)))
		}
	}
	if taken := PortTaken(p, others); taken != nil {
		f := predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports", taken.Text())
		f.HostPort = taken
		failures = append(failures, f)
	}
	if !pod.IsStatic(p) {
		if !knowsTaints(node) && !toleratesAll(p) {
			unchecked = append(unchecked, "taints: the node's are not known")
		}
		if taint := untolerated(p, node.Spec.Taints); taint != nil {
			failures = append(failures, predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate", taint.ToString()))
		}
	}
	return failures, unchecked
}

// selects reports whether the pod is particular about nodes.
func selects(p *v1.Pod) bool {
	affinity := p.Spec.Affinity
	return len(p.Spec.NodeSelector) > 0 || affinity != nil && affinity.NodeAffinity != nil &&
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// matches reports whether the node is one that the pod selects. Whatever the
// node's label of its system says, the kubelet corrects it first.
func matches(p *v1.Pod, node *v1.Node) bool {
	labelled := *node
	labelled.Labels = maps.Clone(node.Labels)
	labelled.Labels[v1.LabelOSStable] = system(node)
	match, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(&labelled)
	return match && err == nil
}

// untolerated is the first taint that would drive the pod off the node again,
// nil if there is none. The kubelet minds NoExecute only
// (k8s.io/api/core/v1/toleration.go, without comparison operators).
func untolerated(p *v1.Pod, taints []v1.Taint) *v1.Taint {
	for i := range taints {
		if taints[i].Effect == v1.TaintEffectNoExecute &&
			!slices.ContainsFunc(p.Spec.Tolerations, func(t v1.Toleration) bool { return tolerates(t, taints[i]) }) {
			return &taints[i]
		}
	}
	return nil
}

// toleratesAll reports whether the pod tolerates every NoExecute taint.
func toleratesAll(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(t v1.Toleration) bool {
		return t.Operator == v1.TolerationOpExists && t.Key == "" && (t.Effect == "" || t.Effect == v1.TaintEffectNoExecute)
	})
}

func tolerates(t v1.Toleration, taint v1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case "", v1.TolerationOpEqual:
		return t.Value == taint.Value
	case v1.TolerationOpExists:
		return true
	default:
		return false
	}
}
