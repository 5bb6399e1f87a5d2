package admission

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestImageVolumeNeedsRuntimeSupport(t *testing.T) {
	image := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "im", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "a:1"}}}}}}
	for _, test := range []struct {
		can      bool
		pod      *v1.Pod
		rejected bool
	}{{false, image, true}, {true, image, false}, {false, &v1.Pod{}, false}} {
		err := Policy{}.Check(test.pod, Runtime{Name: "containerd 2.0.5", ImageVolumes: test.can})
		if (err != nil) != test.rejected {
			t.Errorf("image volumes %v: %v", test.can, err)
		}
		if err != nil && (!strings.Contains(err.Message, `volume "im"`) || !strings.Contains(err.Message, "containerd 2.0.5")) {
			t.Errorf("message %q", err.Message)
		}
	}
}

func TestStopSignalNeedsRuntimeSupport(t *testing.T) {
	signal := v1.SIGUSR1
	p := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Lifecycle: &v1.Lifecycle{StopSignal: &signal}}}}}
	for _, can := range []bool{false, true} {
		err := Policy{}.Check(p, Runtime{Name: "containerd 2.0.5", StopSignals: can})
		if (err == nil) != can {
			t.Errorf("stop signals %v: %v", can, err)
		}
	}
}

func TestRuntimeClassHandler(t *testing.T) {
	rt := Runtime{Handlers: []string{"", "runc"}, Classes: RuntimeClasses{"mapped": "runc", "wrong": "gone"}}
	for class, message := range map[string]string{
		"": "", "runc": "", "mapped": "",
		"kata":  `runtime class "kata": the runtime has no handler of that name`,
		"wrong": `runtime class "wrong": the runtime has no handler "gone"`,
	} {
		p := &v1.Pod{Spec: v1.PodSpec{RuntimeClassName: &class}}
		err := rt.CheckClass(p)
		if message == "" && err != nil || message != "" && (err == nil || err.Message != message) {
			t.Errorf("%q: %v, want %q", class, err, message)
		}
		if err := (Runtime{}).CheckClass(p); err != nil {
			t.Errorf("%q on a runtime that lists no handlers: %v", class, err)
		}
		if err := (Policy{}).Check(p, Runtime{ImageVolumes: true, StopSignals: true, Handlers: rt.Handlers, Classes: rt.Classes}); err != nil {
			t.Errorf("%q is not admitted: %v; want it to wait for its handler", class, err)
		}
	}
}
