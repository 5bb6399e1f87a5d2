package twin

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Smaller are the pods that have less than this one: an act, a rule, a container, a probe or
// a hook. The pod itself is the last. Their names are of their own, so that all can be given
// to the nodes at once.
func Smaller(p Planned) []Planned {
	var all []Planned
	add := func(change func(p *Planned, pods []*v1.Pod)) {
		smaller := Planned{Name: fmt.Sprintf("%s-%d", p.Name, len(all)), Acts: slices.Clone(p.Acts)}
		for _, rule := range p.Rules {
			smaller.Rules = append(smaller.Rules, strings.Replace(rule, "pod="+p.Name+" ", "pod="+smaller.Name+" ", 1))
		}
		pods := make([]*v1.Pod, len(p.Acts))
		for i, act := range p.Acts {
			pods[i] = &v1.Pod{}
			if err := yaml.Unmarshal([]byte(act.Manifest), pods[i]); err != nil {
				panic(err)
			}
			pods[i].Name = smaller.Name
		}
		change(&smaller, pods)
		for i := range smaller.Acts {
			if smaller.Acts[i].Manifest != "" {
				smaller.Acts[i].Manifest = manifest(pods[i])
			}
		}
		all = append(all, smaller)
	}
	each := func(change func(pod *v1.Pod)) {
		add(func(_ *Planned, pods []*v1.Pod) {
			for _, pod := range pods {
				change(pod)
			}
		})
	}
	if len(p.Acts) > 1 {
		add(func(p *Planned, _ []*v1.Pod) { p.Acts = p.Acts[:len(p.Acts)-1] })
	}
	if len(p.Rules) > 0 {
		add(func(p *Planned, _ []*v1.Pod) { p.Rules = nil })
	}
	first := &v1.Pod{}
	if err := yaml.Unmarshal([]byte(p.Acts[0].Manifest), first); err != nil {
		panic(err)
	}
	for i := range first.Spec.InitContainers {
		each(func(pod *v1.Pod) { pod.Spec.InitContainers = without(pod.Spec.InitContainers, i) })
	}
	for i := range first.Spec.Containers {
		if len(first.Spec.Containers) > 1 {
			each(func(pod *v1.Pod) { pod.Spec.Containers = without(pod.Spec.Containers, i) })
		}
		c := func(pod *v1.Pod) *v1.Container {
			if i < len(pod.Spec.Containers) {
				return &pod.Spec.Containers[i]
			}
			return &v1.Container{}
		}
		each(func(pod *v1.Pod) { c(pod).LivenessProbe, c(pod).ReadinessProbe, c(pod).StartupProbe = nil, nil, nil })
		each(func(pod *v1.Pod) { c(pod).Lifecycle = nil })
	}
	add(func(*Planned, []*v1.Pod) {})
	return all
}

func without(list []v1.Container, i int) []v1.Container {
	if i >= len(list) {
		return list
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}
