package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// cluster is a pod with volumes of objects, and the objects.
type cluster struct {
	t  *testing.T
	m  *Manager
	p  *v1.Pod
	in pod.VolumeInput
}

// mounting needs root, for the tmpfs that all but ConfigMaps lie on.
func mounting(t *testing.T, volumes ...v1.Volume) *cluster {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	c := &cluster{t: t, m: New(t.TempDir()), p: podWith(volumes...)}
	c.p.Namespace = "ns"
	key := types.NamespacedName{Namespace: "ns", Name: "o"}
	c.in.Objects = &pod.Objects{
		ConfigMaps: map[types.NamespacedName]*v1.ConfigMap{
			key: {Data: map[string]string{"a": "1", "b": "2"}, BinaryData: map[string][]byte{"bin": {0, 255}}},
		},
		Secrets: map[types.NamespacedName]*v1.Secret{key: {Data: map[string][]byte{"user": []byte("me"), "word": []byte("hunter2")}}},
	}
	c.in.Downward = func(f v1.DownwardAPIVolumeFile) (string, error) {
		if f.FieldRef == nil {
			return "", errors.New("no such field")
		}
		return f.FieldRef.FieldPath, nil
	}
	t.Cleanup(func() {
		// By another podctl, as after a kill.
		if err := New(filepath.Dir(c.m.PodsDir())).Unmount(context.WithoutCancel(t.Context()), c.p.UID); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *cluster) mount() (map[string]string, error) { return c.m.Mount(c.t.Context(), c.p, c.in) }

func (c *cluster) mustMount() string {
	c.t.Helper()
	paths, err := c.mount()
	if err != nil {
		c.t.Fatal(err)
	}
	return paths[c.p.Spec.Volumes[0].Name]
}

// group gives the pod an fsGroup.
func (c *cluster) group(gid int64) { c.p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &gid} }

func local(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }

func volumeOf(source v1.VolumeSource) v1.Volume { return v1.Volume{Name: "v", VolumeSource: source} }

func secretVolume(mode int32, items ...v1.KeyToPath) v1.Volume {
	return volumeOf(v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "o", DefaultMode: &mode, Items: items}})
}

func configVolume(mode int32, items ...v1.KeyToPath) v1.Volume {
	return volumeOf(v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: local("o"), DefaultMode: &mode, Items: items}})
}

var fieldItem = v1.DownwardAPIVolumeFile{Path: "d/name", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}

func downwardVolume(mode int32, items ...v1.DownwardAPIVolumeFile) v1.Volume {
	return volumeOf(v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{DefaultMode: &mode, Items: items}})
}

func projectedVolume(mode int32, sources ...v1.VolumeProjection) v1.Volume {
	return volumeOf(v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{DefaultMode: &mode, Sources: sources}})
}

func TestContentsPerKind(t *testing.T) {
	tests := []struct {
		name   string
		volume v1.Volume
		dir    string
		memory bool
		want   files
	}{
		{"all of a ConfigMap", configVolume(0o644), "configmap", false,
			files{"a": {data: []byte("1"), mode: 0o644}, "b": {data: []byte("2"), mode: 0o644}, "bin": {data: []byte{0, 255}, mode: 0o644}}},
		{"items of a ConfigMap", configVolume(0o600, v1.KeyToPath{Key: "a", Path: "x/y"}, v1.KeyToPath{Key: "bin", Path: "z", Mode: new(int32(0o444))}), "configmap", false,
			files{"x/y": {data: []byte("1"), mode: 0o600}, "z": {data: []byte{0, 255}, mode: 0o444}}},
		{"all of a Secret", secretVolume(0o400), "secret", true,
			files{"user": {data: []byte("me"), mode: 0o400}, "word": {data: []byte("hunter2"), mode: 0o400}}},
		{"items of a Secret", secretVolume(0o400, v1.KeyToPath{Key: "word", Path: "w", Mode: new(int32(0o440))}), "secret", true,
			files{"w": {data: []byte("hunter2"), mode: 0o440}}},
		{"downward API", downwardVolume(0o644, fieldItem), "downward-api", true,
			files{"d/name": {data: []byte("metadata.name"), mode: 0o644}}},
		{"projected", projectedVolume(0o640,
			v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: local("o")}},
			v1.VolumeProjection{Secret: &v1.SecretProjection{LocalObjectReference: local("o"), Items: []v1.KeyToPath{{Key: "word", Path: "a", Mode: new(int32(0o400))}}}},
			v1.VolumeProjection{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{fieldItem}}},
		), "projected", true, files{
			"a": {data: []byte("hunter2"), mode: 0o400}, "b": {data: []byte("2"), mode: 0o640}, "bin": {data: []byte{0, 255}, mode: 0o640}, "d/name": {data: []byte("metadata.name"), mode: 0o640},
		}},
	}
	for _, tt := range tests {
		for _, gid := range []int64{0, 2000} {
			t.Run(tt.name, func(t *testing.T) {
				c := mounting(t, tt.volume)
				want, top := tt.want, fs.ModeDir|0o777
				if tt.memory {
					top |= fs.ModeSticky
				}
				if gid != 0 {
					c.group(gid)
					top |= fs.ModeSetgid
					want = files{}
					for path, f := range tt.want {
						want[path] = file{data: f.data, mode: f.mode | 0o440}
					}
				}
				dir := c.mustMount()
				diff(t, "path", c.m.Dir("u1")+"/volumes/kubernetes.io~"+tt.dir+"/v", dir)
				var paths []string
				for path := range want {
					paths = append(paths, path)
				}
				if got := look(t, dir, paths); !sameFiles(got, want) {
					t.Errorf("has %v, want %v", got, want)
				}
				diff(t, "mode of the volume", top, modeOf(t, dir))
				kind, err := mountedAt(dir)
				if err != nil || (kind == tmpfsType) != tt.memory {
					t.Errorf("on %q, %v", kind, err)
				}
				ownedBy(t, dir, uint32(gid))
			})
		}
	}
}

// ownedBy asserts that everything below dir is root's and the group's.
func ownedBy(t *testing.T, dir string, gid uint32) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 0 || st.Gid != gid {
			t.Errorf("%s is of %d:%d, want 0:%d", path, st.Uid, st.Gid, gid)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestMissingObjectsOfVolumes(t *testing.T) {
	missing := v1.KeyToPath{Key: "nope", Path: "p"}
	edit := func(v v1.Volume, change func(*v1.Volume)) v1.Volume { change(&v); return v }
	tests := []struct {
		volume v1.Volume
		want   string
	}{
		{edit(configVolume(0o644), func(v *v1.Volume) { v.ConfigMap.Name = "none" }), `configmap "none" not found`},
		{edit(secretVolume(0o644), func(v *v1.Volume) { v.Secret.SecretName = "none" }), `secret "none" not found`},
		{configVolume(0o644, missing), "configmap references non-existent config key: nope"},
		{secretVolume(0o644, missing), "references non-existent secret key: nope"},
		{downwardVolume(0o644, v1.DownwardAPIVolumeFile{Path: "x"}), "x: no such field"},
		{projectedVolume(0o644, v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: local("none")}},
			v1.VolumeProjection{Secret: &v1.SecretProjection{LocalObjectReference: local("o"), Items: []v1.KeyToPath{missing}}}),
			`[configmap "none" not found, references non-existent secret key: nope]`},
		{edit(configVolume(0o644), func(v *v1.Volume) { v.ConfigMap.DefaultMode = nil }), "no defaultMode used, not even the default value for it"},
		{configVolume(0o644, v1.KeyToPath{Key: "a", Path: "../a"}), "invalid path: must not contain '..': ../a"},
		{edit(configVolume(0o644, missing), func(v *v1.Volume) { v.ConfigMap.Name, v.ConfigMap.Optional = "none", new(true) }), ""},
		{edit(configVolume(0o644, missing), func(v *v1.Volume) { v.ConfigMap.Optional = new(true) }), ""},
		{edit(secretVolume(0o644), func(v *v1.Volume) { v.Secret.SecretName, v.Secret.Optional = "none", new(true) }), ""},
		{edit(secretVolume(0o644, missing), func(v *v1.Volume) { v.Secret.Optional = new(true) }), ""},
	}
	for _, tt := range tests {
		c := mounting(t, tt.volume)
		paths, err := c.mount()
		if tt.want == "" {
			if err != nil || len(remains(t, paths["v"], nil)) > 0 {
				t.Errorf("%v: error %v", tt.volume, err)
			}
			continue
		}
		var failed *Error
		if !errors.As(err, &failed) || failed.Harmless() {
			t.Fatalf("error %v, want %q", err, tt.want)
		}
		diff(t, "event", `MountVolume.SetUp failed for volume "v" : `+tt.want, failed.EventMessage())
		if strings.Contains(err.Error(), "hunter2") {
			t.Error("a secret is in the error")
		}
	}
}

func TestContentsFollowObjects(t *testing.T) {
	c := mounting(t, secretVolume(0o400))
	c.group(2000)
	dir := c.mustMount()
	c.in.Objects.Secrets[types.NamespacedName{Namespace: "ns", Name: "o"}] = &v1.Secret{Data: map[string][]byte{"word": []byte("new"), "more": []byte("x")}}
	c.mustMount()
	want := files{"word": {data: []byte("new"), mode: 0o440}, "more": {data: []byte("x"), mode: 0o440}}
	if got := look(t, dir, []string{"user", "word", "more"}); !sameFiles(got, want) {
		t.Errorf("has %v, want %v", got, want)
	}
	ownedBy(t, dir, 2000)
	diff(t, "left behind", []string(nil), remains(t, dir, want))

	// Without its object it keeps what it has, and says so.
	delete(c.in.Objects.Secrets, types.NamespacedName{Namespace: "ns", Name: "o"})
	paths, err := c.mount()
	var failed *Error
	if !errors.As(err, &failed) || !failed.Harmless() || paths["v"] != dir {
		t.Errorf("paths %v, error %v", paths, err)
	}
	if got := look(t, dir, []string{"word"}); string(got["word"].data) != "new" {
		t.Errorf("has %v", got)
	}
}

func TestMountPointsInVolumeAreCreated(t *testing.T) {
	c := mounting(t, configVolume(0o644), empty("e"), empty("f"), empty("g"))
	for i, path := range []string{"/v", "/v/nested/deep", "/v/nested/deep/er", "/v-not"} {
		c.p.Spec.Containers[0].VolumeMounts[i].MountPath = path
	}
	dir := c.mustMount()
	diff(t, "mode", fs.ModeDir|0o755, modeOf(t, filepath.Join(dir, "nested/deep")))
	diff(t, "left", []string{"nested"}, remains(t, dir, files{"a": {}, "b": {}, "bin": {}}))
	if _, err := os.Stat(filepath.Join(dir, "nested/deep/er")); err == nil {
		t.Error("the mount point of a volume in another one was made here")
	}
}

func TestMemoryVolumeAfterReboot(t *testing.T) {
	c := mounting(t, secretVolume(0o400))
	dir := c.mustMount()
	if err := syscall.Unmount(dir, 0); err != nil { // as a reboot does
		t.Fatal(err)
	}
	c.m = New(filepath.Dir(c.m.PodsDir()))
	c.mustMount()
	if kind, err := mountedAt(dir); err != nil || kind != tmpfsType {
		t.Errorf("on %q, %v", kind, err)
	}
	if got := look(t, dir, []string{"word"}); string(got["word"].data) != "hunter2" {
		t.Errorf("has %v", got)
	}
}
