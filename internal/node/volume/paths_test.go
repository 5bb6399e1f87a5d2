package volume

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

func TestPathsMatchMount(t *testing.T) {
	root := t.TempDir()
	p := podWith(empty("a"), v1.Volume{Name: "b"}, host(t.TempDir(), v1.HostPathDirectory))
	p.Spec.Volumes = append(p.Spec.Volumes, empty("unused"))
	paths := Paths(filepath.Join(root, "pods"), p, nil)
	made, err := os.ReadDir(root)
	if err != nil || len(made) > 0 {
		t.Errorf("Paths made %v, %v", made, err)
	}
	mounted, err := New(root).Mount(t.Context(), p, pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "paths", mounted, paths)
}

func TestPathsOmitFailingVolumes(t *testing.T) {
	p := podWith(empty("a"), v1.Volume{Name: "s", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{}}})
	diff(t, "paths", map[string]string{"a": "/pods/u1/volumes/kubernetes.io~empty-dir/a"}, Paths("/pods", p, nil))
}
