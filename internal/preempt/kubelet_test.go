package preempt

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// plainKubelet is the kubelet's algorithm told plainly, pod by pod and round
// by round, with nothing worked out beforehand: the second implementation that
// Plan is compared with, and the one that the benchmark is measured against.
func plainKubelet(preemptor *v1.Pod, pods []*v1.Pod, need []Amount) (victims []*v1.Pod, missing []Amount) {
	byQOS := map[v1.PodQOSClass][]*v1.Pod{}
	for _, p := range pods {
		if mayPreempt(preemptor, p) {
			byQOS[pod.QOS(p)] = append(byQOS[pod.QOS(p)], p)
		}
	}
	g, bu, be := byQOS[v1.PodQOSGuaranteed], byQOS[v1.PodQOSBurstable], byQOS[v1.PodQOSBestEffort]
	if left := lessThese(need, g, bu, be); len(left) > 0 {
		return nil, left
	}
	fromG := oneByOne(g, lessThese(need, bu, be))
	fromBu := oneByOne(bu, lessThese(need, fromG, be))
	fromBe := oneByOne(be, lessThese(need, fromG, fromBu))
	victims = append(victims, fromBe...)
	victims = append(victims, fromBu...)
	return append(victims, fromG...), nil
}

func mayPreempt(preemptor, p *v1.Pod) bool {
	if pod.IsCritical(preemptor) && !pod.IsCritical(p) {
		return true
	}
	return preemptor.Spec.Priority != nil && p.Spec.Priority != nil && *preemptor.Spec.Priority > *p.Spec.Priority
}

func plainRequest(p *v1.Pod, name v1.ResourceName) int64 {
	return pod.Count(name, pod.Freed(p)[name])
}

func lessThese(need []Amount, groups ...[]*v1.Pod) []Amount {
	var left []Amount
	for _, n := range need {
		for _, group := range groups {
			for _, p := range group {
				if n.Count > 0 {
					n.Count -= plainRequest(p, n.Resource)
				}
			}
		}
		if n.Count > 0 {
			left = append(left, n)
		}
	}
	return left
}

func oneByOne(pods []*v1.Pod, need []Amount) []*v1.Pod {
	pods = append([]*v1.Pod(nil), pods...)
	var chosen []*v1.Pod
	for len(need) > 0 {
		at, nearest := 0, math.Inf(1)
		for i, p := range pods {
			far := 0.0
			for _, n := range need {
				if rest := float64(n.Count - plainRequest(p, n.Resource)); rest > 0 {
					far += math.Pow(rest/float64(n.Count), 2)
				}
			}
			if far < nearest || far == nearest && noLarger(p, pods[at]) {
				at, nearest = i, far
			}
		}
		chosen = append(chosen, pods[at])
		need = lessThese(need, []*v1.Pod{pods[at]})
		pods[at] = pods[len(pods)-1]
		pods = pods[:len(pods)-1]
	}
	return chosen
}

func noLarger(a, b *v1.Pod) bool {
	for _, name := range []v1.ResourceName{v1.ResourceMemory, v1.ResourceCPU} {
		if x, y := plainRequest(a, name), plainRequest(b, name); x != y {
			return x < y
		}
	}
	return true
}
