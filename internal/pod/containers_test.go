package pod

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestAllContainersInitFirst(t *testing.T) {
	p := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "i"}, {Name: "j"}}, Containers: []v1.Container{{Name: "c"}, {Name: "d"}},
	}}
	var names []string
	for c := range Containers(p) {
		names = append(names, c.Name)
		c.Image = "seen"
		if c.Name == "c" {
			break
		}
	}
	if !slices.Equal(names, []string{"i", "j", "c"}) || p.Spec.Containers[0].Image != "seen" || p.Spec.Containers[1].Image != "" {
		t.Errorf("%v, %+v", names, p.Spec)
	}
}
