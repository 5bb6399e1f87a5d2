package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

func memoryVolume(limit string) v1.Volume {
	e := &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}
	if limit != "" {
		e.SizeLimit = new(resource.MustParse(limit))
	}
	return volumeOf(v1.VolumeSource{EmptyDir: e})
}

func TestMemoryVolumeSizeLimit(t *testing.T) {
	const mi = 1 << 20
	tests := []struct {
		name           string
		own, container string
		node, want     int64
	}{
		{"nothing is known", "", "", 0, 0},
		{"the node's", "", "", 900 * mi, 900 * mi},
		{"the pod's", "", "64Mi", 900 * mi, 64 * mi},
		{"its own", "8Mi", "64Mi", 900 * mi, 8 * mi},
		{"its own is above the pod's", "80Mi", "64Mi", 900 * mi, 64 * mi},
		{"its own is above the node's", "2Gi", "", 900 * mi, 900 * mi},
		{"its own of 0 is none", "0", "64Mi", 900 * mi, 64 * mi},
		{"its own, and the node is not known", "8Mi", "64Mi", 0, 8 * mi},
		{"the pod's, and the node is not known", "80Mi", "64Mi", 0, 64 * mi},
	}
	for _, tt := range tests {
		v := memoryVolume(tt.own)
		p := podWith(v)
		if tt.container != "" {
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse(tt.container)}
		}
		if got := memorySize(p, &v, tt.node); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestMemoryVolumeMount(t *testing.T) {
	c := mounting(t, memoryVolume("8Mi"))
	c.group(2000)
	c.in.Memory = 900 << 20
	dir := c.mustMount()
	diff(t, "mode", fs.ModeDir|fs.ModeSticky|fs.ModeSetgid|0o777, modeOf(t, dir))
	ownedBy(t, dir, 2000)
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || int64(st.Blocks)*st.Bsize != 8<<20 {
		t.Errorf("holds %d bytes, %v", int64(st.Blocks)*st.Bsize, err)
	}
	write(t, filepath.Join(dir, "f"), "kept")
	c.m = New(filepath.Dir(c.m.PodsDir())) // another podctl
	c.mustMount()
	if _, err := os.Stat(filepath.Join(dir, "f")); err != nil {
		t.Errorf("mounted over: %v", err)
	}
	if err := c.m.Unmount(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, dir)
}

func hugeVolume(medium v1.StorageMedium, requests ...string) *v1.Pod {
	p := podWith(volumeOf(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium}}))
	list := v1.ResourceList{}
	for _, size := range requests {
		list[v1.ResourceName("hugepages-"+size)] = resource.MustParse("4Mi")
	}
	p.Spec.Containers[0].Resources.Requests = list
	return p
}

func TestHugePagesSizeOfRequest(t *testing.T) {
	tests := []struct {
		medium    v1.StorageMedium
		requests  []string
		want, err string
	}{
		{"HugePages", []string{"2Mi"}, "2Mi", ""},
		{"HugePages", []string{"2Mi", "1Gi"}, "", "medium: HugePages can't be used if container requests multiple huge page sizes"},
		{"HugePages", nil, "", "medium HugePages: hugePages storage requested, but there is no resource request for huge pages"},
		{"HugePages-1Gi", []string{"2Mi", "1Gi"}, "1Gi", ""},
		{"HugePages-1Gi", []string{"2Mi"}, "", "medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages"},
	}
	for _, tt := range tests {
		got, err := pageSize(hugeVolume(tt.medium, tt.requests...), tt.medium)
		switch {
		case tt.err != "":
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s %v: error %v, want %q", tt.medium, tt.requests, err, tt.err)
			}
		case err != nil || got.String() != tt.want:
			t.Errorf("%s %v: %s, %v", tt.medium, tt.requests, got.String(), err)
		}
	}
}

func TestHugePagesMountPageSize(t *testing.T) {
	c := mounting(t)
	c.p = hugeVolume("HugePages-2Mi", "2Mi")
	c.group(2000)
	if sizes, err := filepath.Glob("/sys/kernel/mm/hugepages/hugepages-2048kB"); err != nil || len(sizes) == 0 {
		t.Skip("this kernel has no huge pages of 2Mi")
	}
	dir := c.mustMount()
	kind, err := mountedAt(dir)
	if err != nil || kind != hugeTLBType {
		t.Errorf("on %q, %v", kind, err)
	}
	diff(t, "mode", fs.ModeDir|fs.ModeSetgid|0o775, modeOf(t, dir))
	ownedBy(t, dir, 2000)
	if size, err := pageSizeAt(dir); err != nil || size != 2<<20 {
		t.Errorf("pages of %d bytes, %v", size, err)
	}
	c.m = New(filepath.Dir(c.m.PodsDir()))
	c.mustMount()
	c.m = New(filepath.Dir(c.m.PodsDir()))
	c.p.Spec.Volumes[0].EmptyDir.Medium = "HugePages-1Gi"
	if _, err := c.mount(); err == nil || !strings.Contains(err.Error(), "pagesize '2Mi' and requested medium size '1Gi' differ") {
		t.Errorf("error %v", err)
	}
}

func TestUnmountMountsOfDeadPodctl(t *testing.T) {
	c := mounting(t, memoryVolume(""), empty("e"))
	dir := c.mustMount()
	write(t, filepath.Join(dir, "f"), "x")
	outside := filepath.Join(t.TempDir(), "outside", "precious")
	write(t, outside, "keep me")
	at := filepath.Join(dir, "mnt")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	bind(t, filepath.Dir(outside), at)
	if err := New(filepath.Dir(c.m.PodsDir())).Unmount(t.Context(), "u1"); err == nil || !strings.HasSuffix(err.Error(), ": still mounted in it: "+at) {
		t.Fatalf("error %v does not name %s alone", err, at)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err != nil {
		t.Errorf("something was taken away: %v", err)
	}
	if err := unix.Unmount(at, 0); err != nil {
		t.Fatal(err)
	}
	next := New(filepath.Dir(c.m.PodsDir()))
	if err := errors.Join(next.Unmount(t.Context(), "u1"), next.RemovePod(t.Context(), "u1")); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, c.m.Dir("u1"))
	mustLive(t, outside)
}

// TestMountOfOtherTypeIsForeign: another program has mounted a
// directory right over a volume.
func TestMountOfOtherTypeIsForeign(t *testing.T) {
	for _, name := range []string{"v", "e"} {
		c := mounting(t, configVolume(0o644), empty("e"))
		paths, err := c.mount()
		if err != nil {
			t.Fatal(err)
		}
		at := paths[name]
		if name == "e" { // where a whole tmpfs would be ours
			err = unix.Mount(t.TempDir(), at, "", unix.MS_BIND, "")
		} else {
			err = unix.Mount("tmpfs", at, "tmpfs", 0, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := c.m.Unmount(t.Context(), "u1"); err == nil || !strings.Contains(err.Error(), "still mounted in it: "+at) {
			t.Errorf("error %v", err)
		}
		if err := unix.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	}
}

// TestMemoryVolumeFillsAfterGrowth: what the attempts before
// have left in it does not stand in the way.
func TestMemoryVolumeFillsAfterGrowth(t *testing.T) {
	c := mounting(t, secretVolume(0o400))
	c.in.Memory = 256 << 10
	key := types.NamespacedName{Namespace: "ns", Name: "o"}
	dir := c.mustMount()
	for range 3 {
		c.in.Objects.Secrets[key] = &v1.Secret{Data: map[string][]byte{"big": make([]byte, 300<<10)}}
		if _, err := c.mount(); !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("error %v", err)
		}
		if got := look(t, dir, []string{"word"}); string(got["word"].data) != "hunter2" {
			t.Errorf("meanwhile it has %v", got)
		}
	}
	c.in.Objects.Secrets[key] = &v1.Secret{Data: map[string][]byte{"big": make([]byte, 200<<10)}}
	c.mustMount()
	diff(t, "left behind", []string(nil), remains(t, dir, files{"big": {}}))
}

func TestUnknownMountOptionError(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	if err := mountOn(t.TempDir(), tmpfsType, []string{"nosuchoption"}); !errors.Is(err, errMountOption) {
		t.Errorf("error %v", err)
	}
	if err := mountOn(filepath.Join(t.TempDir(), "none"), tmpfsType, nil); err == nil || errors.Is(err, errMountOption) {
		t.Errorf("error %v", err)
	}
}
