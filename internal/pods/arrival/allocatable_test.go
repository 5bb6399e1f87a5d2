package arrival

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/owners/kubelet"
)

func TestAllocatableOfAKubelet(t *testing.T) {
	facts := &render.Node{
		MemoryCapacity: 8 << 30, Allocatable: render.Allocatable(4, 8<<30, 100<<30),
		HugePages: v1.ResourceList{"hugepages-2Mi": resource.MustParse("1Gi")},
	}
	r := &kubelet.Reservation{
		MaxPods: 50, EvictionHard: map[string]string{"memory.available": "10%"},
		KubeReserved: map[v1.ResourceName]resource.Quantity{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi"), "pid": resource.MustParse("100")},
	}
	got := kubeletAllocatable(facts, r, v1.ResourceList{"cpu": resource.MustParse("1")})
	want := map[v1.ResourceName]int64{
		"cpu": 2500, "memory": (8<<30 - (8<<30)/10 - 2<<30) * 1000, "pods": 50000, "hugepages-2Mi": 1 << 30 * 1000,
		"ephemeral-storage": (100<<30 - (100<<30)/10) * 1000,
	}
	for name, milli := range want {
		q := got[name]
		if diff := q.MilliValue() - milli; diff < -1e6 || diff > 1e6 || name == "cpu" && diff != 0 {
			t.Errorf("%s: %d, want %d", name, q.MilliValue(), milli)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}
