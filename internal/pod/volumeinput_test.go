package pod

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestPodMemoryLimit(t *testing.T) {
	limited := func(memory string) v1.Container { return container(nil, list("", memory)) }
	tests := []struct {
		name string
		spec v1.PodSpec
		want int64
	}{
		{"none", v1.PodSpec{Containers: []v1.Container{{}}}, 0},
		{"all", v1.PodSpec{Containers: []v1.Container{limited("64Mi"), limited("32Mi")}}, 96 << 20},
		{"not all", v1.PodSpec{Containers: []v1.Container{limited("64Mi"), {}}}, 0},
		{"not an init container", v1.PodSpec{Containers: []v1.Container{limited("64Mi")}, InitContainers: []v1.Container{{}}}, 0},
		{"an init container that may have more", v1.PodSpec{Containers: []v1.Container{limited("64Mi")}, InitContainers: []v1.Container{limited("1Gi")}}, 1 << 30},
		{"the pod", v1.PodSpec{Containers: []v1.Container{{}}, Resources: &v1.ResourceRequirements{Limits: list("", "128Mi")}}, 128 << 20},
	}
	for _, tt := range tests {
		if got := MemoryLimit(&v1.Pod{Spec: tt.spec}); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
