package volume

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

func ephemeralPod() *v1.Pod {
	p := podWith(volumeOf(v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}}))
	p.Name, p.Namespace = "web", "ns"
	return p
}

func TestEphemeralVolumeIsRemovedWithPod(t *testing.T) {
	root := t.TempDir()
	m, p := New(root), ephemeralPod()
	paths, err := m.Mount(t.Context(), p, pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	dir := paths["v"]
	diff(t, "path", filepath.Join(m.Dir(p.UID), "volumes/kubernetes.io~local-volume/v"), dir)
	diff(t, "mode", fs.ModeDir|0o777, modeOf(t, dir))
	write(t, filepath.Join(dir, "deep/f"), "keep me")
	if _, err := New(root).Mount(t.Context(), p, pod.VolumeInput{}); err != nil { // another podctl
		t.Fatal(err)
	}
	mustLive(t, filepath.Join(dir, "deep/f"))
	if err := errors.Join(m.Unmount(t.Context(), p.UID), m.RemovePod(t.Context(), p.UID)); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, m.Dir(p.UID))
	mustBeGone(t, filepath.Join(root, "claims"))
}

func TestForeignClaimOfEphemeralVolumeName(t *testing.T) {
	in := pod.VolumeInput{Objects: &pod.Objects{Claims: map[types.NamespacedName]*v1.PersistentVolumeClaim{
		{Namespace: "ns", Name: "web-v"}: {},
	}}}
	_, err := New(t.TempDir()).Mount(t.Context(), ephemeralPod(), in)
	const want = `MountVolume.SetUp failed for volume "v" : PVC ns/web-v was not created for pod ns/web (pod is not owner)`
	var failed *Error
	if !errors.As(err, &failed) || failed.EventMessage() != want {
		t.Errorf("%v", err)
	}
	if !pod.RefsOf(ephemeralPod()).Claims["web-v"] {
		t.Error("the pod does not wait for the claim to go")
	}
}
