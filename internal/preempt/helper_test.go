package preempt

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// quantities reads "cpu=1 memory=1Gi".
func quantities(s string) v1.ResourceList {
	l := v1.ResourceList{}
	for field := range strings.FieldsSeq(s) {
		name, q, _ := strings.Cut(field, "=")
		l[v1.ResourceName(name)] = resource.MustParse(q)
	}
	return l
}

// app is a pod of namespace default that requests so much, of priority 0.
func app(name, requests string) *v1.Pod {
	zero := int32(0)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: v1.PodSpec{
			Priority:   &zero,
			Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: quantities(requests)}}},
		},
	}
}

// with changes a pod and returns it.
func with(p *v1.Pod, change func(*v1.Pod)) *v1.Pod {
	change(p)
	return p
}

func limited(p *v1.Pod) *v1.Pod {
	p.Spec.Containers[0].Resources.Limits = p.Spec.Containers[0].Resources.Requests
	return p
}

func ranked(priority int32, p *v1.Pod) *v1.Pod {
	p.Spec.Priority = &priority
	return p
}

// dns is a critical pod that requests so much.
func dns(requests string) *v1.Pod {
	p := critical()
	p.Spec.Containers[0].Resources.Requests = quantities(requests)
	return p
}

// machine is a node with so much allocatable.
func machine(allocatable string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"disk": "ssd"}},
		Status:     v1.NodeStatus{Allocatable: quantities(allocatable)},
	}
}
