package render

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestForeseenMounts(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Spec.RuntimeClassName = new("kata")
		p.Spec.Volumes = []v1.Volume{
			{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			{Name: "im", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "example.com/data:1"}}},
		}
		p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{
			{Name: "v", MountPath: "/part", SubPath: "a", ReadOnly: true, RecursiveReadOnly: new(v1.RecursiveReadOnlyEnabled)},
			{Name: "im", MountPath: "/im", SubPath: "b"},
		}
	})
	in := input(withPaths)
	if err := Foresee(p, &p.Spec.Containers[0], &in); err != nil {
		t.Fatal(err)
	}
	cfg, err := Container(p, &p.Spec.Containers[0], in)
	if err != nil {
		t.Fatal(err)
	}
	if m := cfg.Mounts[0]; m.HostPath != "/pods/u1/volume-subpaths/v/c/0" || !m.RecursiveReadOnly {
		t.Errorf("part: %v", m)
	}
	if m := cfg.Mounts[1]; m.Image.GetImage() != "example.com/data:1" || m.Image.RuntimeHandler != "kata" || m.ImageSubPath != "b" || !m.Readonly {
		t.Errorf("image: %v", m)
	}
}
