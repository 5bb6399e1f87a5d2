package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// claimer is a pod that uses the claim o.
func claimer(uid types.UID) *v1.Pod {
	p := podWith(volumeOf(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "o"}}))
	p.UID, p.Namespace = uid, "ns"
	return p
}

func claimed(modes ...v1.PersistentVolumeAccessMode) pod.VolumeInput {
	return pod.VolumeInput{Objects: &pod.Objects{Claims: map[types.NamespacedName]*v1.PersistentVolumeClaim{
		{Namespace: "ns", Name: "o"}: {Spec: v1.PersistentVolumeClaimSpec{AccessModes: modes}},
	}}}
}

func TestClaimOutlivesPods(t *testing.T) {
	root := t.TempDir()
	m := New(root)
	for _, uid := range []types.UID{"u1", "u2"} {
		p := claimer(uid)
		paths, err := m.Mount(t.Context(), p, claimed())
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(root, "claims/ns/o")
		diff(t, "path", dir, paths["v"])
		diff(t, "planned path", dir, Paths(m.PodsDir(), p, nil)["v"])
		diff(t, "mode", fs.ModeDir|0o777, modeOf(t, dir))
		diff(t, "mode of its parent", fs.ModeDir|0o750, modeOf(t, filepath.Dir(dir)))
		if uid == "u2" {
			mustLive(t, filepath.Join(dir, "deep/f"))
		}
		write(t, filepath.Join(dir, "deep/f"), "keep me")
		if err := errors.Join(m.Unmount(t.Context(), uid), m.RemovePod(t.Context(), uid)); err != nil {
			t.Fatal(err)
		}
		mustBeGone(t, m.Dir(uid))
		mustLive(t, filepath.Join(dir, "deep/f"))
	}
}

func TestClaimMustBeDeclaredFilesystem(t *testing.T) {
	block := claimed()
	block.Objects.Claim("ns", "o").Spec.VolumeMode = new(v1.PersistentVolumeBlock)
	for want, in := range map[string]pod.VolumeInput{
		`persistentvolumeclaim "o" not found`:                             {},
		"volume v has volumeMode Block, but is specified in volumeMounts": block,
	} {
		var failed *Error
		if _, err := New(t.TempDir()).Mount(t.Context(), claimer("u1"), in); !errors.As(err, &failed) || failed.Err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	bad := claimer("u1")
	bad.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = ".."
	if _, err := New(t.TempDir()).Mount(t.Context(), bad, claimed()); err == nil {
		t.Error("a claim named .. is accepted")
	}
}

func TestReadWriteOncePodClaimIsExclusive(t *testing.T) {
	root := t.TempDir()
	first, second := New(root), New(root) // two podctls
	if _, err := first.Mount(t.Context(), claimer("u1"), claimed(v1.ReadWriteOncePod)); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Mount(t.Context(), claimer("u1"), claimed(v1.ReadWriteOncePod)); err != nil {
		t.Errorf("the pod itself: %v", err)
	}
	if _, err := second.Mount(t.Context(), claimer("u2"), claimed(v1.ReadWriteOncePod)); err == nil {
		t.Error("a second pod has it")
	}
	if err := first.Unmount(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Mount(t.Context(), claimer("u2"), claimed(v1.ReadWriteOncePod)); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
	if _, err := second.Mount(t.Context(), claimer("u3"), claimed(v1.ReadWriteOnce)); err != nil {
		t.Errorf("ReadWriteOnce is about nodes: %v", err)
	}
}

// aDataDir is the claim's directory with a file in it, and a symlink to one
// outside that must not change.
func aDataDir(t *testing.T, root string) (dir, outside string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to give files to another group")
	}
	dir, outside = filepath.Join(root, "claims/ns/o"), filepath.Join(t.TempDir(), "precious")
	write(t, filepath.Join(dir, "d/f"), "")
	write(t, outside, "keep me")
	if err := errors.Join(os.Chmod(filepath.Join(dir, "d/f"), 0o600), os.Chmod(outside, 0o600), os.Symlink(outside, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	return dir, outside
}

func groupAt(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Gid
}

func TestClaimFSGroup(t *testing.T) {
	grouped := func(uid types.UID, gid int64, policy v1.PodFSGroupChangePolicy) *v1.Pod {
		p := claimer(uid)
		p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &gid, FSGroupChangePolicy: &policy}
		return p
	}
	root := t.TempDir()
	dir, outside := aDataDir(t, root)
	m := New(root)
	use := func(p *v1.Pod) {
		t.Helper()
		if _, err := m.Mount(t.Context(), p, claimed()); err != nil {
			t.Fatal(err)
		}
	}
	leave := func(p *v1.Pod) {
		t.Helper()
		if err := m.Unmount(t.Context(), p.UID); err != nil {
			t.Fatal(err)
		}
	}
	f := filepath.Join(dir, "d/f")

	reader := grouped("r", 2000, v1.FSGroupChangeAlways)
	reader.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	use(reader)
	diff(t, "group, for a pod that only reads", uint32(0), groupAt(t, f))
	leave(reader)

	one := grouped("u1", 2000, v1.FSGroupChangeOnRootMismatch)
	use(one)
	diff(t, "group", uint32(2000), groupAt(t, f))
	diff(t, "mode of a file", fs.FileMode(0o660), modeOf(t, f))
	diff(t, "mode of a directory", fs.ModeDir|fs.ModeSetgid|0o775, modeOf(t, filepath.Join(dir, "d")))
	diff(t, "group of a symlink", uint32(2000), groupAt(t, filepath.Join(dir, "link")))
	diff(t, "mode of what it leads to", fs.FileMode(0o600), modeOf(t, outside))
	diff(t, "group of what it leads to", uint32(0), groupAt(t, outside))

	use(grouped("u2", 3000, v1.FSGroupChangeAlways))
	diff(t, "group, while another pod uses it", uint32(2000), groupAt(t, f))
	leave(one)
	leave(grouped("u2", 3000, ""))

	if err := os.Chown(f, 0, 0); err != nil {
		t.Fatal(err)
	}
	use(one)
	diff(t, "group, as the top is right", uint32(0), groupAt(t, f))
	leave(one)
	always := grouped("u1", 2000, v1.FSGroupChangeAlways)
	use(always)
	diff(t, "group, with Always", uint32(2000), groupAt(t, f))
	leave(always)

	if err := os.Chmod(dir, fs.ModeSetgid|0o755); err != nil { // the group may not write
		t.Fatal(err)
	}
	if err := os.Chown(f, 0, 0); err != nil {
		t.Fatal(err)
	}
	use(one)
	diff(t, "group, as the top's mode is not right", uint32(2000), groupAt(t, f))
}

// boundTo is the claim o, bound to a volume with such a source.
func boundTo(source v1.PersistentVolumeSource) pod.VolumeInput {
	key := types.NamespacedName{Namespace: "ns", Name: "o"}
	return pod.VolumeInput{Objects: &pod.Objects{
		Claims:   map[types.NamespacedName]*v1.PersistentVolumeClaim{key: {}},
		Bindings: map[types.NamespacedName]pod.Binding{key: {Volume: &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: source}}}},
	}}
}

func TestBoundClaimIsItsVolume(t *testing.T) {
	root, data := t.TempDir(), t.TempDir()
	write(t, filepath.Join(data, "index.html"), "hello")
	for name, source := range map[types.UID]v1.PersistentVolumeSource{
		"hostpath": {HostPath: &v1.HostPathVolumeSource{Path: data}},
		"local":    {Local: &v1.LocalVolumeSource{Path: data}},
	} {
		m, p, in := New(root), claimer(name), boundTo(source)
		paths, err := m.Mount(t.Context(), p, in)
		if err != nil {
			t.Fatal(name, err)
		}
		diff(t, "path", data, paths["v"])
		diff(t, "planned path", data, Paths(m.PodsDir(), p, in.Objects)["v"])
		if err := errors.Join(m.Unmount(t.Context(), name), m.RemovePod(t.Context(), name)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(data, "index.html")); err != nil || string(got) != "hello" {
			t.Errorf("the data was touched: %q, %v", got, err)
		}
	}
	mustBeGone(t, filepath.Join(root, "claims/ns/o"))
}

func TestVolumeThatCannotBeHad(t *testing.T) {
	key := types.NamespacedName{Namespace: "ns", Name: "o"}
	pending := claimed()
	pending.Objects.Bindings = map[types.NamespacedName]pod.Binding{key: {Pending: "requested PV is too small"}}
	missing := filepath.Join(t.TempDir(), "none")
	directory := v1.HostPathDirectory
	for want, in := range map[string]pod.VolumeInput{
		`persistentvolumeclaim "o" is not bound: requested PV is too small`:                                                                   pending,
		`persistentvolume "" is an NFS export, which podctl does not mount`:                                                                   boundTo(v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{}}),
		`path "` + missing + `" does not exist`:                                                                                               boundTo(v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: missing}}),
		`hostPath type check failed, ` + missing + ` is not a directory, unable to determine its type: path "` + missing + `" does not exist`: boundTo(v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: missing, Type: &directory}}),
	} {
		root := t.TempDir()
		var failed *Error
		if _, err := New(root).Mount(t.Context(), claimer("u1"), in); !errors.As(err, &failed) || failed.Err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
		mustBeGone(t, filepath.Join(root, "claims/ns/o"))
	}
}

// A pod keeps the directory that it began to use when another volume is declared.
func TestPodKeepsVolumeItUses(t *testing.T) {
	root, data := t.TempDir(), t.TempDir()
	if _, err := New(root).Mount(t.Context(), claimer("u1"), claimed()); err != nil {
		t.Fatal(err)
	}
	in := boundTo(v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: data}})
	paths, err := New(root).Mount(t.Context(), claimer("u1"), in)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "path", filepath.Join(root, "claims/ns/o"), paths["v"])
	if paths, err = New(root).Mount(t.Context(), claimer("u2"), in); err != nil {
		t.Fatal(err)
	}
	diff(t, "path of the next pod", data, paths["v"])
}

// A volume that is declared later must not give a claim the data of another one, nor take
// its own away; only a manifest that names the volume can.
func TestClaimKeepsItsData(t *testing.T) {
	root, data := t.TempDir(), t.TempDir()
	objects := func(claims, volumes string, named map[string]string) pod.VolumeInput {
		o := pod.NewObjects()
		for name := range strings.FieldsSeq(volumes) {
			path := filepath.Join(data, name)
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			v := &v1.PersistentVolume{}
			v.Name, v.Spec.HostPath = name, &v1.HostPathVolumeSource{Path: path}
			v.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
			o.Volumes[types.NamespacedName{Name: name}] = v
		}
		for name := range strings.FieldsSeq(claims) {
			c := &v1.PersistentVolumeClaim{}
			c.Namespace, c.Name, c.Spec.VolumeName = "ns", name, named[name]
			o.Claims[types.NamespacedName{Namespace: "ns", Name: name}] = c
		}
		return pod.VolumeInput{Objects: pod.Merge(o)}
	}
	use := func(uid types.UID, claim string, in pod.VolumeInput) (string, error) {
		p := claimer(uid)
		p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = claim
		paths, err := New(root).Mount(t.Context(), p, in)
		return paths["v"], err
	}
	for _, c := range []struct {
		uid             types.UID
		claim           string
		claims, volumes string
		named           map[string]string
		want            string // of data; "" is an error
	}{
		{"u1", "o", "o", "v1", nil, "v1"},
		{"u2", "o", "o", "v0 v1", nil, ""},   // v0 is empty
		{"u3", "a", "a o", "v1 v2", nil, ""}, // v1 has the data of o
		{"u4", "o", "a o", "v1 v2", nil, ""}, // v2 is empty
		{"u5", "o", "a o", "v1 v2", map[string]string{"o": "v1"}, "v1"},
		{"u6", "a", "a o", "v1 v2", map[string]string{"o": "v1"}, "v2"},
		{"u7", "o", "o", "v1 v3", map[string]string{"o": "v3"}, "v3"},
		{"u8", "o", "o", "v3", nil, "v3"},
	} {
		got, err := use(c.uid, c.claim, objects(c.claims, c.volumes, c.named))
		if err == nil {
			write(t, filepath.Join(got, "f"), "of "+c.claim)
		}
		if c.want == "" && err == nil || c.want != "" && (err != nil || got != filepath.Join(data, c.want)) {
			t.Errorf("%s: claim %s is %s, %v; want %q", c.uid, c.claim, got, err, c.want)
		}
	}
}
