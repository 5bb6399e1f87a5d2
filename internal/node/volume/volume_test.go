package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

func TestEmptyDirModeAndPath(t *testing.T) {
	root := t.TempDir()
	got, err := New(root).Mount(t.Context(), podWith(empty("a"), v1.Volume{Name: "b"}), pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "pods/u1/volumes/kubernetes.io~empty-dir")
	diff(t, "paths", map[string]string{"a": filepath.Join(dir, "a"), "b": filepath.Join(dir, "b")}, got)
	diff(t, "mode", fs.ModeDir|0o777, modeOf(t, got["a"]))
	diff(t, "mode of the pod's directory", fs.ModeDir|0o750, modeOf(t, filepath.Join(root, "pods/u1")))
}

func TestEmptyDirBelongsToTheFSGroup(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to give a directory to another group")
	}
	p := podWith(empty("a"))
	p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(5000))}
	got, err := New(t.TempDir()).Mount(t.Context(), p, pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "mode", fs.ModeDir|fs.ModeSetgid|0o777, modeOf(t, got["a"]))
	info, err := os.Stat(got["a"])
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "group", uint32(5000), info.Sys().(*syscall.Stat_t).Gid)
}

func TestRemountKeepsContainerChanges(t *testing.T) {
	root := t.TempDir()
	p := podWith(empty("a"))
	first, err := New(root).Mount(t.Context(), p, pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(first["a"], "file"), "kept")
	if err := os.Chmod(first["a"], 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := New(root).Mount(t.Context(), p, pod.VolumeInput{}) // another podctl
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "paths", first, again)
	diff(t, "mode", fs.ModeDir|0o700, modeOf(t, again["a"]))
	if _, err := os.Stat(filepath.Join(again["a"], "file")); err != nil {
		t.Error(err)
	}
}

func TestMountAfterCrash(t *testing.T) {
	root := t.TempDir()
	aside := filepath.Join(root, "pods/u1/volumes/kubernetes.io~empty-dir/.a")
	if err := os.MkdirAll(aside, 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := New(root).Mount(t.Context(), podWith(empty("a")), pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "mode", fs.ModeDir|0o777, modeOf(t, got["a"]))
	if _, err := os.Lstat(aside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", aside, err)
	}
}

func TestUnmountedVolumesAreNotCreated(t *testing.T) {
	p := podWith(empty("a"))
	p.Spec.Volumes = append(p.Spec.Volumes, host("/no/such", v1.HostPathDirectory), empty("i"))
	p.Spec.InitContainers = []v1.Container{{Name: "i", VolumeMounts: []v1.VolumeMount{{Name: "i"}}}}
	got, err := New(t.TempDir()).Mount(t.Context(), p, pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["a"] == "" || got["i"] == "" {
		t.Errorf("made %v, want a and i", got)
	}
}

func TestMountJoinsErrorsOfVolumes(t *testing.T) {
	unsupported := v1.Volume{Name: "s", VolumeSource: v1.VolumeSource{NFS: &v1.NFSVolumeSource{}}}
	memory := v1.Volume{Name: "m", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: "Tape"}}}
	got, err := New(t.TempDir()).Mount(t.Context(), podWith(unsupported, memory, host("a/../b", ""), empty("a")), pod.VolumeInput{})
	if err == nil {
		t.Fatal("no error")
	}
	diff(t, "error", strings.Join([]string{
		`set up volume "s": volumes of kind nfs are not supported`,
		`set up volume "m": unknown storage medium "Tape"`,
		`set up volume "h": invalid hostPath "a/../b": it must not contain '..'`,
	}, "\n"), err.Error())
	var reasoned interface{ Reason() string }
	if !errors.As(err, &reasoned) || reasoned.Reason() != "FailedMount" {
		t.Errorf("%v has not the reason FailedMount", err)
	}
	if got["a"] == "" {
		t.Error("the good one was not made")
	}
}

func TestPodDirsListsDirectoriesOnly(t *testing.T) {
	root := t.TempDir()
	m := New(root)
	got, err := m.PodDirs()
	if err != nil || got != nil {
		t.Fatalf("before the first pod: %v, %v", got, err)
	}
	for _, uid := range []types.UID{"b", "a"} {
		if err := m.CreatePod(uid); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "pods/file"), "")
	got, err = m.PodDirs()
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "pods", []string{"a", "b"}, got)
}

func TestTerminationLogIsNewAndWorldWritable(t *testing.T) {
	root := t.TempDir()
	m := New(root)
	one, err := m.TerminationLog("u1", "c")
	if err != nil {
		t.Fatal(err)
	}
	two, err := m.TerminationLog("u1", "c")
	if err != nil {
		t.Fatal(err)
	}
	if one == two || filepath.Dir(one) != filepath.Join(root, "pods/u1/containers/c") {
		t.Errorf("files %s and %s", one, two)
	}
	diff(t, "mode", fs.FileMode(0o666), modeOf(t, one))
}

func TestRemoveTerminationLogsKeepsThoseOfContainersThatExist(t *testing.T) {
	m := New(t.TempDir())
	var files []string
	for range 3 {
		path, err := m.TerminationLog("u1", "c")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	other, err := m.TerminationLog("u1", "other")
	if err != nil {
		t.Fatal(err)
	}
	// The same root may have been mounted elsewhere when the container was created.
	kept := map[string]bool{filepath.Join("/mnt", filepath.Base(files[1])): true, "/etc/hosts": true}
	if err := m.RemoveTerminationLogs("u1", "c", kept); err != nil {
		t.Fatal(err)
	}
	for path, stays := range map[string]bool{files[0]: false, files[1]: true, files[2]: false, other: true} {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v, want that it stays: %v", path, err, stays)
		}
	}
	if err := m.RemoveTerminationLogs("u2", "c", nil); err != nil {
		t.Errorf("nothing to remove: %v", err)
	}
}

func TestWriteFileReplacesOnlyWhatChanged(t *testing.T) {
	m := New(t.TempDir())
	if err := m.CreatePod("u1"); err != nil {
		t.Fatal(err)
	}
	var files []os.FileInfo
	for _, content := range []string{"one", "one", "two"} {
		path, err := m.WriteFile("u1", HostsName, []byte(content), 0o644)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "content", content, string(got))
		diff(t, "mode", fs.FileMode(0o644), modeOf(t, path))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, info)
	}
	if !os.SameFile(files[0], files[1]) || os.SameFile(files[1], files[2]) {
		t.Error("the same content must stay the same file, another must be another")
	}
	entries, err := os.ReadDir(m.Dir("u1"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 { // the file and volumes
		t.Errorf("left behind: %v", entries)
	}
}

func TestRejectNamesOutsideDirectory(t *testing.T) {
	m := New(t.TempDir())
	for _, bad := range []string{"", ".", "..", "a/b", "../x", "a\x00"} {
		p := podWith(v1.Volume{Name: bad})
		p.UID = "u1"
		_, logErr := m.TerminationLog("u1", bad)
		_, fileErr := m.WriteFile("u1", bad, nil, 0o600)
		_, volumeErr := m.Mount(t.Context(), p, pod.VolumeInput{})
		errs := []error{m.CreatePod(types.UID(bad)), logErr, fileErr, volumeErr}
		if i := slices.Index(errs, nil); i >= 0 {
			t.Errorf("%q: call %d is accepted", bad, i)
		}
	}
}

// The UIDs of the pods of others are whatever their creator wrote.
func TestInvalidUIDsHaveNoDirectory(t *testing.T) {
	root := t.TempDir()
	m := New(filepath.Join(root, "root"))
	other := filepath.Join(root, "other")
	if err := errors.Join(m.CreatePod("u1"), os.Mkdir(other, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []types.UID{"", ".", "..", "x/../u1", "../../other", "u1/volumes", "a\x00", types.UID(strings.Repeat("u", 300))} {
		if m.Has(uid) {
			t.Errorf("%.20q has a directory", uid)
		}
		if err := errors.Join(m.Unmount(t.Context(), uid), m.RemovePod(t.Context(), uid)); err != nil {
			t.Errorf("%.20q: %v", uid, err)
		}
	}
	if _, err := os.Stat(other); err != nil || !m.Has("u1") {
		t.Errorf("removed: %v, u1 is there: %v", err, m.Has("u1"))
	}
}
