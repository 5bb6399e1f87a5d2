package admission

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/render"
)

func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestAllocatableMatchesKubelet(t *testing.T) {
	const gi = 1 << 30
	facts := &render.Node{
		Allocatable: render.Allocatable(4, 8*gi, 0),
		HugePages:   quantities("hugepages-2Mi", "1Gi"),
	}
	for name, c := range map[string]struct{ capacity, reserved, want v1.ResourceList }{
		"this machine": {nil, nil, quantities("cpu", "4", "memory", "7068Mi", "hugepages-2Mi", "1Gi", "pods", "110")},
		"capacity replaces what it names": {
			quantities("memory", "2Gi", "example.com/gpu", "2"), nil,
			quantities("cpu", "4", "memory", "2Gi", "hugepages-2Mi", "1Gi", "pods", "110", "example.com/gpu", "2"),
		},
		"reserved goes off": {
			quantities("memory", "2Gi"), quantities("memory", "512Mi", "cpu", "500m"),
			quantities("cpu", "3500m", "memory", "1536Mi", "hugepages-2Mi", "1Gi", "pods", "110"),
		},
		"no less than nothing": {
			nil, quantities("cpu", "5", "pods", "111"),
			quantities("cpu", "0", "memory", "7068Mi", "hugepages-2Mi", "1Gi", "pods", "0"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Allocatable(facts, c.capacity, c.reserved)
			if len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for name, want := range c.want {
				if q := got[name]; q.Cmp(want) != 0 {
					t.Errorf("%s: got %s, want %s", name, q.String(), want.String())
				}
			}
		})
	}
}
