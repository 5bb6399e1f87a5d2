package preempt

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// candidate is a pod on the node with all that choosing needs of it, worked
// out once.
type candidate struct {
	pod *v1.Pod
	// class is the index of its QoS class in classes, -1 if it is none of them.
	class int
	// frees is what evicting it frees of each needed resource, in the order of
	// the needs.
	frees []int64
	// memory and cpu are what it frees of these, needed or not: of candidates at
	// one distance the smaller is taken.
	memory, cpu int64
	// reason is "" of a possible victim that nothing is decided of.
	reason Reason
	// kill is its place among the victims, from 1.
	kill int
}

// freesNothing reports whether its eviction would not help at all.
func (c *candidate) freesNothing() bool {
	return !anyShort(c.frees)
}

// equals reports whether nothing but their places in the list distinguishes two candidates.
func (c *candidate) equals(d *candidate) bool {
	return c.class == d.class && c.memory == d.memory && c.cpu == d.cpu && slices.Equal(c.frees, d.frees)
}

func candidates(preemptor *v1.Pod, pods []*v1.Pod, need []Amount) []*candidate {
	out := make([]*candidate, len(pods))
	for i, p := range pods {
		freed := pod.Freed(p)
		count := func(name v1.ResourceName) int64 { return pod.Count(name, freed[name]) }
		c := &candidate{pod: p, class: slices.Index(classes[:], pod.QOS(p)), memory: count(v1.ResourceMemory), cpu: count(v1.ResourceCPU)}
		for _, n := range need {
			c.frees = append(c.frees, count(n.Resource))
		}
		c.reason = spared(preemptor, c)
		out[i] = c
	}
	return out
}

// spared returns why the preemptor may not evict the candidate, "" if it may: only a
// critical pod preempts, any pod that is not critical, and critical ones of a priority
// that is known and strictly lower (Preemptable in pkg/kubelet/types/pod_update.go).
func spared(preemptor *v1.Pod, c *candidate) Reason {
	ours, theirs := preemptor.Spec.Priority, c.pod.Spec.Priority
	known := ours != nil && theirs != nil
	switch {
	case !pod.IsCritical(preemptor):
		return NotPreempting
	case c.class < 0:
		return UnknownClass
	case !pod.IsCritical(c.pod) || known && *ours > *theirs:
		return ""
	case known && *theirs > *ours:
		return HigherPriority
	}
	return Critical
}
