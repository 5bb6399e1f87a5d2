package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/render"
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

// A kubelet that says what it keeps back is asked; one that does not, as on
// its read-only port, leaves its defaults, and a warning.
func TestPreemptAsksTheKubeletWhatIsAllocatable(t *testing.T) {
	settings := `{"kubeletconfig":{"maxPods":3}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/pods":
			fmt.Fprint(w, `{"kind":"PodList","items":[]}`)
		case r.URL.Path == "/configz" && settings != "":
			fmt.Fprint(w, settings)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	w := &world{t: t, dir: t.TempDir()}
	dns := w.file("dns.yaml", needing("dns", "1m", criticalClass))
	ask := func() (out, errw string) {
		c := w.start(nil, "preempt", "--dry-run", "-f", dns, "--kubelet", server.URL)
		c.ends(0, 10*time.Second)
		return c.out.String(), c.errw.String()
	}
	out, errw := ask()
	expect(t, out, "kubelet "+server.URL+" has 3 pods, ")
	if errw != "" {
		t.Errorf("stderr: %s", errw)
	}
	settings = ""
	out, errw = ask()
	expect(t, out, "this machine has 110 pods, ")
	expect(t, errw, "warning: the kubelet's settings cannot be read, its defaults are taken: ask the kubelet: ", "/configz: 404")
}
