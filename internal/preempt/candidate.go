package preempt

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/pod"
)

// candidate is a pod on the node with all that choosing needs of it, worked
// out once.
type candidate struct {
	pod *v1.Pod
	// index is its place among the pods that Plan was given.
	index    int
	qos      v1.PodQOSClass
	class    class
	priority int32
	// frees is what evicting it frees of each needed resource, in the order of
	// the needs.
	frees []int64
	// memory and cpu are what it frees of these, needed or not: of candidates at
	// one distance the smaller is taken.
	memory, cpu int64
	// shape numbers the distinct (frees, memory, cpu) of a class.
	shape int
	// spared is why it cannot be a victim; Victim if it can.
	spared Reason
}

// freesNothing reports whether its eviction would not help at all.
func (c *candidate) freesNothing() bool {
	for _, f := range c.frees {
		if f > 0 {
			return false
		}
	}
	return true
}

func candidates(preemptor *v1.Pod, pods []*v1.Pod, need []Amount) []*candidate {
	all := make([]candidate, len(pods))
	frees := make([]int64, len(pods)*len(need))
	out := make([]*candidate, len(pods))
	for i, p := range pods {
		freed := freedBy(p)
		c := &all[i]
		*c = candidate{
			pod: p, index: i, qos: pod.QOS(p), priority: pod.Priority(p),
			frees:  frees[i*len(need) : (i+1)*len(need) : (i+1)*len(need)],
			memory: freed(v1.ResourceMemory),
			cpu:    freed(v1.ResourceCPU),
		}
		for j, n := range need {
			c.frees[j] = freed(n.Resource)
		}
		c.class = classOf(c.qos)
		c.spared = spared(preemptor, c)
		out[i] = c
	}
	return out
}

// freedBy counts what evicting the pod frees, as pod.Freed has it. Most pods
// have containers and nothing else, and are added up here, in less than half
// the time.
func freedBy(p *v1.Pod) func(v1.ResourceName) int64 {
	if len(p.Spec.InitContainers) > 0 || p.Spec.Resources != nil || len(p.Spec.Overhead) > 0 {
		all := pod.Freed(p)
		return func(name v1.ResourceName) int64 { return pod.Count(name, all[name]) }
	}
	return func(name v1.ResourceName) int64 {
		if name == v1.ResourcePods {
			return 1
		}
		var sum resource.Quantity
		for i := range p.Spec.Containers {
			if q, ok := p.Spec.Containers[i].Resources.Requests[name]; ok {
				sum.Add(q)
			}
		}
		return pod.Count(name, sum)
	}
}

// spared returns why the preemptor may not evict the candidate: only a critical
// pod preempts, any pod that is not critical, and critical ones of a priority
// that is known and strictly lower (Preemptable in pkg/kubelet/types/pod_update.go).
func spared(preemptor *v1.Pod, c *candidate) Reason {
	ours, theirs := preemptor.Spec.Priority, c.pod.Spec.Priority
	known := ours != nil && theirs != nil
	switch {
	case !pod.IsCritical(preemptor):
		return NotPreempting
	case c.class == classes:
		return UnknownClass
	case !pod.IsCritical(c.pod) || known && *ours > *theirs:
		return Victim
	case known && *theirs > *ours:
		return HigherPriority
	}
	return Critical
}
