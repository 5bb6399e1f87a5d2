package node

import (
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
)

func TestImageVolumesAreNotForARuntimeThatWouldReadThemAsHostPaths(t *testing.T) {
	image := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "im", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "a:1"}}}}}}
	for _, test := range []struct {
		version string
		pod     *v1.Pod
		refused bool
	}{{"1.6.20", image, true}, {"2.0.5", image, true}, {"2.1.0", image, false}, {"1.6.20", &v1.Pod{}, false}} {
		n := &Node{version: cri.Version{Name: "containerd", Version: test.version}}
		err := n.refuseImageVolumes(test.pod)
		if (err != nil) != test.refused {
			t.Errorf("%s: %v", test.version, err)
		}
		if err != nil && (!strings.Contains(err.Message, `volume "im"`) || !strings.Contains(err.Message, "containerd "+test.version)) {
			t.Errorf("message %q", err.Message)
		}
	}
}

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
			refused, err := p.refuseClass(context.Background(), of)
			if err != nil || (refused == nil) != known {
				t.Errorf("%q: refused %v, %v", class, refused, err)
			}
		}
		p.kill()
	})
}
