package volume

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/pod"
)

func TestEmptyDirLimitCountsDiskBlocks(t *testing.T) {
	limited := func(limit string) *v1.Pod {
		return podWith(volumeOf(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(limit))}}), empty("free"))
	}
	m := New(t.TempDir())
	paths, err := m.Mount(t.Context(), limited("1Mi"), pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	over := func(limit string, want bool) {
		t.Helper()
		name, found, got := m.OverLimit(t.Context(), limited(limit))
		if got != want || got && (name != "v" || found.String() != limit) {
			t.Errorf("limit %s: volume %q, limit %s, over %v, want %v", limit, name, found.String(), got, want)
		}
	}
	half := strings.Repeat("x", 600<<10)
	write(t, filepath.Join(paths["free"], "f"), half+half)
	write(t, filepath.Join(paths["v"], "d/one"), half)
	outside := filepath.Join(t.TempDir(), "f")
	write(t, outside, half+half)
	if err := errors.Join(
		os.Link(filepath.Join(paths["v"], "d/one"), filepath.Join(paths["v"], "same")),
		os.Symlink(outside, filepath.Join(paths["v"], "link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(paths["v"], "dirlink")),
	); err != nil {
		t.Fatal(err)
	}
	over("1Mi", false)
	over("500Ki", true)
	over("0", false)
	write(t, filepath.Join(paths["v"], "two"), half)
	over("1Mi", true)
	over("2Mi", false)

	unused := limited("1Mi")
	unused.Spec.Containers = nil
	if _, _, got := m.OverLimit(t.Context(), unused); got {
		t.Error("a volume that no container mounts is over its limit")
	}
	if err := m.Unmount(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	over("1Mi", false)
}
