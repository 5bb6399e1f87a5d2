package volume

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// levels is the depth of a hostile tree, far beyond the descriptors that the
// test allows.
const levels = 6_000

// nest makes directories d/d/d/… below dir, as a container can with mkdir and
// chdir, each with a file if files is set.
func nest(t *testing.T, dir string, depth int, files bool) {
	t.Helper()
	fd, err := unix.Open(dir, openDirectory, 0)
	for i := 0; i < depth && err == nil; i++ {
		if err = unix.Mkdirat(fd, "d", 0o755); err != nil {
			break
		}
		var next int
		if next, err = unix.Openat(fd, "d", openDirectory, 0); err != nil {
			break
		}
		_ = unix.Close(fd)
		fd = next
		if files {
			var f int
			if f, err = unix.Openat(fd, "f", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err == nil {
				err = unix.Close(f)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
}

// limitFiles bounds the descriptors of the process until the test ends.
func limitFiles(t *testing.T, most uint64) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	})
}

// allocated returns how many bytes f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestDeepTreesInLinearTime(t *testing.T) {
	m, volume, _ := aPodOnDisk(t)
	nest(t, volume, levels, true)
	write(t, filepath.Join(volume, "large"), strings.Repeat("x", 1<<20))
	limitFiles(t, 200)
	const most = 64 << 20

	seen := 0
	if got := allocated(func() {
		if err := walk(t.Context(), volume, func(int, string, *unix.Statx_t) error { seen++; return nil }); err != nil {
			t.Error(err)
		}
	}); got > most {
		t.Errorf("walking allocated %d bytes", got)
	}
	if want := 2*levels + 2; seen != want {
		t.Errorf("visited %d files, want %d", seen, want)
	}
	if used, err := usage(t.Context(), volume, math.MaxInt64); err != nil || used < 1<<20 {
		t.Errorf("usage %d, %v", used, err)
	}
	if os.Getuid() == 0 {
		if err := giveTo(t.Context(), volume, new(int64(5000)), readWrite); err != nil {
			t.Error(err)
		}
		if got := modeOf(t, filepath.Join(volume, "d/d/f")); got != 0o660 {
			t.Errorf("mode %v of a file given to the group", got)
		}
	}
	if got := allocated(func() {
		if err := errors.Join(m.Unmount(t.Context(), "u1"), m.RemovePod(t.Context(), "u1")); err != nil {
			t.Error(err)
		}
	}); got > most {
		t.Errorf("removal allocated %d bytes", got)
	}
	mustBeGone(t, m.Dir("u1"))
}

// Directories that lie too deep are moved up into the top one; a container may
// have used the names that they get there.
func TestRemoveDeepTreeNameCollision(t *testing.T) {
	m, volume, outside := aPodOnDisk(t)
	top := filepath.Join(m.Dir("u1"), volumesName)
	nest(t, volume, 3*maxRemoveDepth, true)
	write(t, filepath.Join(top, "removed-1", "full"), "")
	write(t, filepath.Join(top, "removed-2"), "")
	if err := errors.Join(os.Mkdir(filepath.Join(top, "removed-3"), 0o755), os.Symlink(filepath.Dir(outside), filepath.Join(top, "removed-4"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Unmount(t.Context(), "u1"), m.RemovePod(t.Context(), "u1")); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, m.Dir("u1"))
	mustLive(t, outside)
}

func TestWalkSeesEachFileOnce(t *testing.T) {
	dir := t.TempDir()
	want := map[string]bool{".": true}
	for i := range 40 {
		at := fmt.Sprintf("%s%02d", strings.Repeat("d/", i), i)
		write(t, filepath.Join(dir, at, "file"), "")
		if err := os.Symlink("/", filepath.Join(dir, at, "link")); err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			write(t, filepath.Join(dir, strings.Repeat("d/", i), fmt.Sprintf("wide-%02d-%d", i, n)), "")
		}
	}
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			want[fmt.Sprintf("%d", inodeOf(t, path))] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	if err := walk(t.Context(), dir, func(_ int, name string, st *unix.Statx_t) error {
		if name != "." {
			name = fmt.Sprintf("%d", st.Ino)
		}
		if seen[name] {
			t.Errorf("%s was visited twice", name)
		}
		seen[name] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	diff(t, "visited", want, seen)
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

// A container moves the directory that is being read to another place.
func TestWalkDetectsMovedDirectories(t *testing.T) {
	dir := t.TempDir()
	nest(t, dir, 3*maxOpenLevels, false)
	if err := os.Mkdir(filepath.Join(dir, "elsewhere"), 0o755); err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(dir, strings.Repeat("d/", 2*maxOpenLevels))
	depth := 0
	err := walk(t.Context(), dir, func(_ int, name string, _ *unix.Statx_t) error {
		if name == "d" {
			depth++
		}
		if depth == 3*maxOpenLevels {
			depth++
			return os.Rename(from, filepath.Join(dir, "elsewhere/d"))
		}
		return nil
	})
	if !errors.Is(err, errMoved) {
		t.Errorf("error %v, want %v", err, errMoved)
	}
}

func TestWalkAndRemoveCancel(t *testing.T) {
	m, volume, _ := aPodOnDisk(t)
	nest(t, volume, 100, true)
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := walk(ctx, volume, func(int, string, *unix.Statx_t) error {
		if seen++; seen == 10 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || seen != 10 {
		t.Errorf("walk: %v after %d files", err, seen)
	}
	if err := m.RemovePod(ctx, "u1"); !errors.Is(err, context.Canceled) {
		t.Errorf("removal: %v", err)
	}
	if err := m.RemovePod(t.Context(), "u1"); err != nil {
		t.Error(err)
	}
}

// Containers choose names; what is said about their files stays readable.
func TestErrorsOfDeepPathsAreShort(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("n", 255)
	nestNamed := filepath.Join(dir, strings.TrimSuffix(strings.Repeat(name+"/", 15), "/"))
	if err := os.MkdirAll(nestNamed, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(nestNamed)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := openIn(f, "missing"); err == nil || len(err.Error()) > 2*maxPathText {
		t.Errorf("an error of %d bytes: %.100s…", len(err.Error()), err)
	}
}

// A container can leave a sparse file of any size where podctl wrote its own.
func TestWriteFileBoundsComparison(t *testing.T) {
	m, _, _ := aPodOnDisk(t)
	path, err := m.WriteFile("u1", HostsName, []byte("127.0.0.1 localhost\n"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	if got := allocated(func() {
		if _, err := m.WriteFile("u1", HostsName, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
			t.Error(err)
		}
	}); got > 1<<20 {
		t.Errorf("allocated %d bytes", got)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "127.0.0.1 localhost\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
}

// claimPod is a pod with a claim and an fsGroup.
func claimPod(uid, claim string) (*v1.Pod, pod.VolumeInput) {
	p := podWith(v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	p.UID, p.Namespace = types.UID(uid), "default"
	p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(5000))}
	objects := &pod.Objects{Claims: map[types.NamespacedName]*v1.PersistentVolumeClaim{{Namespace: "default", Name: claim}: {}}}
	return p, pod.VolumeInput{Objects: objects}
}

// While one pod gets a claim, by this process or another, pods with other
// claims go on, and one with the same waits no longer than its context.
func TestClaimsAreLockedSeparately(t *testing.T) {
	root := t.TempDir()
	one, in := claimPod("u1", "one")
	unlock, err := lockClaim(t.Context(), request{pod: one, volume: &one.Spec.Volumes[0], pods: filepath.Join(root, "pods")})
	if err != nil {
		t.Fatal(err)
	}
	two, inTwo := claimPod("u2", "two")
	if _, err := New(root).Mount(t.Context(), two, inTwo); os.Getuid() == 0 && err != nil {
		t.Errorf("a pod with another claim: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(root).Mount(ctx, one, in); !errors.Is(err, context.Canceled) {
		t.Errorf("a pod with the same claim: %v", err)
	}
	unlock()
	if _, err := New(root).Mount(t.Context(), one, in); os.Getuid() == 0 && err != nil {
		t.Errorf("after that: %v", err)
	}
	if got := modeOf(t, filepath.Join(root, "claims/.locks")); got.Perm() != 0o700 {
		t.Errorf("mode %v of the locks' directory: others could take them", got)
	}
}
