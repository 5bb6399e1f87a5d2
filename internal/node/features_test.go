package node

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// TestFeaturesAreThoseOfThePodsHandler: the simulated runtime has runc, and
// knows nothing of kata.
func TestFeaturesAreThoseOfThePodsHandler(t *testing.T) {
	inWorld(t, func(_ *testing.T, w *world) {
		p := w.podctl("a")
		p.opts.RuntimeClasses = map[string]string{"mapped": "runc"}
		for class, known := range map[string]bool{"": true, "runc": true, "mapped": true, "kata": false} {
			of := &v1.Pod{Spec: v1.PodSpec{RuntimeClassName: &class}}
			f, err := p.features(context.Background(), p.handlerOf(of))
			if (err == nil) != known || f.UserNamespaces != known || f.RecursiveReadOnly != known {
				t.Errorf("%q: %+v, %v", class, f, err)
			}
			if err := p.CheckRuntimeClasses(context.Background(), []*v1.Pod{of}); (err == nil) != known {
				t.Errorf("%q: %v", class, err)
			}
		}
		p.kill()
	})
}
