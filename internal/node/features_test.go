package node

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// TestFeaturesOfPodsHandler: the simulated runtime has a handler runc and none kata.
func TestFeaturesOfPodsHandler(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		p := w.podctl("a")
		p.features.classes = map[string]string{"mapped": "runc"}
		declared := &pod.Objects{RuntimeClasses: map[types.NamespacedName]*nodev1.RuntimeClass{
			{Name: "declared"}: {Handler: "runc"}, {Name: "mapped"}: {Handler: "kata"}, {Name: "gone"}: {Handler: "kata"},
		}}
		p.features.declared = func() *pod.Objects { return declared }
		for class, known := range map[string]bool{"": true, "runc": true, "mapped": true, "kata": false, "declared": true, "gone": false} {
			of := &v1.Pod{Spec: v1.PodSpec{RuntimeClassName: &class}}
			f, err := p.features.ofHandler(context.Background(), p.features.handlerOf(of))
			if (err == nil) != known || f.UserNamespaces != known || f.RecursiveReadOnly != known {
				t.Errorf("%q: %+v, %v", class, f, err)
			}
			if err := p.CheckRuntimeClasses(context.Background(), []*v1.Pod{of}, declared); (err == nil) != known {
				t.Errorf("%q: %v", class, err)
			}
		}
		p.kill()
	})
}
