package pod

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestRequestsHeldAndFreed(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	sidecar := container(list("1", ""), nil)
	sidecar.RestartPolicy = &always
	storage := func(l v1.ResourceList) v1.ResourceList {
		l[v1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
		return l
	}
	pages := func(size string) v1.ResourceList { return v1.ResourceList{"hugepages-2Mi": resource.MustParse(size)} }
	resized := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
		Name: "c", AllocatedResources: list("1", ""), Resources: &v1.ResourceRequirements{Requests: list("3", "")},
	}}}
	named := container(list("1", ""), nil)
	named.Name = "c"
	for _, c := range []struct {
		name                  string
		pod                   v1.Pod
		requests, held, freed v1.ResourceList
	}{
		{"containers together", v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{container(list("1", "1Gi"), nil), container(list("1", ""), nil)}}},
			list("2", "1Gi"), list("2", "1Gi"), list("2", "1Gi")},
		{"an init container that needs more", v1.Pod{Spec: v1.PodSpec{
			InitContainers: []v1.Container{container(list("3", ""), nil)}, Containers: []v1.Container{container(list("1", "1Gi"), nil)}}},
			list("3", "1Gi"), list("3", "1Gi"), list("3", "1Gi")},
		{"a sidecar beside both", v1.Pod{Spec: v1.PodSpec{
			InitContainers: []v1.Container{sidecar, container(list("3", ""), nil)}, Containers: []v1.Container{container(list("1", "1Gi"), nil)}}},
			list("4", "1Gi"), list("4", "1Gi"), list("4", "1Gi")},
		{"overhead, freed where something is requested", v1.Pod{Spec: v1.PodSpec{
			Overhead: list("100m", "1Mi"), Containers: []v1.Container{container(list("1", "0"), nil)}}},
			list("1100m", "1Mi"), list("1100m", "1Mi"), list("1100m", "0")},
		{"the pod's own, and nothing else is freed", v1.Pod{Spec: v1.PodSpec{
			Resources:  &v1.ResourceRequirements{Requests: list("2", "")},
			Containers: []v1.Container{container(storage(list("1", "1Gi")), nil)}}},
			storage(list("2", "1Gi")), storage(list("2", "1Gi")), list("2", "")},
		{"huge pages of the pod", v1.Pod{Spec: v1.PodSpec{Resources: &v1.ResourceRequirements{Requests: pages("8Mi")}, Containers: []v1.Container{container(pages("2Mi"), nil)}}},
			pages("8Mi"), pages("8Mi"), pages("8Mi")},
		{"a resize in flight", v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{named}}, Status: resized},
			list("1", ""), list("3", ""), list("1", "")},
	} {
		same(t, c.name+": requests", Requests(&c.pod), c.requests)
		same(t, c.name+": held", Held(&c.pod), c.held)
		c.freed[v1.ResourcePods] = resource.MustParse("1")
		same(t, c.name+": freed", Freed(&c.pod), c.freed)
	}
}

func same(t *testing.T, what string, got, want v1.ResourceList) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
	for name, q := range want {
		if q.Cmp(got[name]) != 0 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
}

func TestCountUnits(t *testing.T) {
	for _, c := range []struct {
		resource v1.ResourceName
		quantity string
		want     int64
	}{
		{v1.ResourceCPU, "1500m", 1500}, {v1.ResourceCPU, "100u", 1}, {v1.ResourceMemory, "1Ki", 1024}, {v1.ResourceMemory, "1500m", 2}, {v1.ResourcePods, "110", 110},
	} {
		if got := Count(c.resource, resource.MustParse(c.quantity)); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.resource, c.quantity, got, c.want)
		}
	}
}
