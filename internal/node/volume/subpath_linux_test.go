package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/hint"
)

// subPathTest is a hostPath volume of pod u1, of which container c mounts
// parts.
type subPathTest struct {
	t       *testing.T
	m       *Manager
	volume  string
	outside string // beside the volume, with a file precious in it
}

func aVolume(t *testing.T) *subPathTest {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	s := &subPathTest{t: t, m: New(t.TempDir()), volume: filepath.Join(t.TempDir(), "vol")}
	s.outside = filepath.Join(filepath.Dir(s.volume), "outside")
	write(t, filepath.Join(s.outside, "precious"), "keep me")
	if err := os.Mkdir(s.volume, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.m.CreatePod("u1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := New(filepath.Dir(s.m.PodsDir())).Unmount(context.WithoutCancel(t.Context()), "u1"); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *subPathTest) target() string {
	return filepath.Join(s.m.Dir("u1"), "volume-subpaths/v/c/0")
}

func (s *subPathTest) bind(path string) error {
	return s.m.BindSubPath("u1", s.volume, path, s.target())
}

// shows asserts that the file, from the target on, has this content.
func (s *subPathTest) shows(file, want string) {
	s.t.Helper()
	if b, err := os.ReadFile(filepath.Join(s.target(), file)); err != nil || string(b) != want {
		s.t.Errorf("the container would see %q, %v, want %q", b, err, want)
	}
}

func (s *subPathTest) mounts() []string {
	s.t.Helper()
	points, err := mountsIn(s.m.Dir("u1"))
	if err != nil {
		s.t.Fatal(err)
	}
	return points
}

func TestMissingSubPathIsCreatedWithVolumeMode(t *testing.T) {
	s := aVolume(t)
	if err := errors.Join(os.Chown(s.volume, 0, 2000), os.Chmod(s.volume, 0o777|os.ModeSetgid)); err != nil {
		t.Fatal(err)
	}
	if err := s.bind("a/b"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(s.volume, "a"), filepath.Join(s.volume, "a/b"), s.target()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := 0o777 | os.ModeSetgid | os.ModeDir; info.Mode() != want || info.Sys().(*syscall.Stat_t).Gid != 2000 {
			t.Errorf("%s: mode %v, group %d, want %v of group 2000", path, info.Mode(), info.Sys().(*syscall.Stat_t).Gid, want)
		}
	}
	write(t, filepath.Join(s.volume, "a/b/f"), "x")
	s.shows("f", "x")
}

func TestSubPathMayBeAFile(t *testing.T) {
	s := aVolume(t)
	write(t, filepath.Join(s.volume, "conf/f"), "x")
	if err := s.bind("conf/f"); err != nil {
		t.Fatal(err)
	}
	s.shows("", "x")
}

func TestSubPathFollowsSymlinksInVolume(t *testing.T) {
	s := aVolume(t)
	write(t, filepath.Join(s.volume, "real/f"), "x")
	for name, to := range map[string]string{"relative": "sub/../real", "absolute": filepath.Join(s.volume, "real")} {
		if err := errors.Join(os.MkdirAll(filepath.Join(s.volume, "sub"), 0o755), os.Symlink(to, filepath.Join(s.volume, name))); err != nil {
			t.Fatal(err)
		}
		if err := s.bind(name); err != nil {
			t.Fatal(err)
		}
		s.shows("f", "x")
	}
	// What is missing is made where the symlink leads.
	if err := s.bind("relative/new"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.volume, "real/new")); err != nil {
		t.Error(err)
	}
}

// TestSubPathEscapeIsRefused: nothing outside is mounted or made, and the
// message, which the pod's owner reads, says nothing of the host.
func TestSubPathEscapeIsRefused(t *testing.T) {
	const prepare, create = `failed to prepare subPath for volumeMount "v" of container "c"`,
		`failed to create subPath directory for volumeMount "v" of container "c"`
	for name, test := range map[string]struct{ link, path, want string }{
		"absolute symlink":            {"/outside", "link", prepare},
		"relative symlink":            {"../outside", "link", prepare},
		"to a file":                   {"../outside/precious", "link", prepare},
		"in the middle":               {"../outside", "link/precious", prepare},
		"to be made outside":          {"../outside", "link/new", create},
		"to be made outside, deep":    {"../outside", "link/new/deep", create},
		"dangling":                    {"../outside/new", "link", create},
		"two dots":                    {"", "../outside", prepare},
		"two dots, to be made":        {"", "../outside/new", create},
		"a neighbour of like a name":  {"", "../vol-2", create},
		"the volume's own parent":     {"..", "link", prepare},
		"magic link of the process":   {"/proc/self/root", "link", prepare},
		"the root of the file system": {"/", "link", prepare},
	} {
		t.Run(name, func(t *testing.T) {
			s := aVolume(t)
			if test.link != "" {
				to := strings.Replace(test.link, "/outside", "/"+s.outside, 1)
				if strings.HasPrefix(test.link, "..") {
					to = test.link
				}
				if err := errors.Join(os.Mkdir(filepath.Join(s.volume, "sub"), 0o755), os.Symlink(to, filepath.Join(s.volume, "link"))); err != nil {
					t.Fatal(err)
				}
			}
			err := s.bind(test.path)
			if _, ok := errors.AsType[*SubPathError](err); !ok || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if m := s.mounts(); len(m) > 0 {
				t.Errorf("mounted: %v", m)
			}
			mustLive(t, filepath.Join(s.outside, "precious"))
			mustBeGone(t, filepath.Join(s.outside, "new"))
			mustBeGone(t, s.volume+"-2")
		})
	}
}

// TestSubPathSwapStaysInVolume: a container exchanges a directory
// of the volume for a symlink that leads out, again and again, while podctl
// makes and mounts a subPath below it.
func TestSubPathSwapStaysInVolume(t *testing.T) {
	const rounds, most = 400, 100_000 // more than 400 where the other goroutine gets no time
	s := aVolume(t)
	swap, link := filepath.Join(s.volume, "swap"), filepath.Join(s.volume, "link")
	write(t, filepath.Join(swap, "where"), "inside")
	write(t, filepath.Join(swap, "deep/where"), "inside")
	write(t, filepath.Join(s.outside, "where"), "outside")
	write(t, filepath.Join(s.outside, "deep/where"), "outside")
	if err := os.Symlink(s.outside, link); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, swap, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				<-stop
				stopped <- err
				return
			}
		}
	}()
	mounted, refused := 0, 0
	for i := 0; i < rounds || (mounted == 0 || refused == 0) && i < most; i++ {
		path := []string{"swap", "swap/deep", "swap/new"}[i%3]
		if err := s.bind(path); err != nil {
			refused++
			continue
		}
		mounted++
		if path == "swap/new" {
			if err := os.Remove(filepath.Join(s.target(), "where")); err == nil {
				t.Fatal("a directory that should have been made was there")
			}
			if left, err := os.ReadDir(s.target()); err != nil || len(left) > 0 {
				t.Fatalf("%v, %v in a new directory", left, err)
			}
			continue
		}
		s.shows("where", "inside")
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, filepath.Join(s.outside, "new"))
	t.Logf("%d mounted, %d refused", mounted, refused)
	if mounted == 0 || refused == 0 {
		t.Errorf("%d mounted and %d refused: that was no race", mounted, refused)
	}
}

func TestSubPathRemountsChangedFile(t *testing.T) {
	s := aVolume(t)
	write(t, filepath.Join(s.volume, "d/f"), "first")
	for range 2 {
		if err := s.bind("d"); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.mounts(); len(m) != 1 {
		t.Errorf("mounted %v, want it once", m)
	}
	if err := os.Rename(filepath.Join(s.volume, "d"), filepath.Join(s.volume, "old")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.volume, "d/f"), "second")
	if err := s.bind("d"); err != nil {
		t.Fatal(err)
	}
	s.shows("f", "second")
	if err := os.RemoveAll(filepath.Join(s.volume, "d")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.volume, "d"), "a file now")
	if err := s.bind("d"); err != nil {
		t.Fatal(err)
	}
	s.shows("", "a file now")
	if m := s.mounts(); len(m) != 1 {
		t.Errorf("mounted %v, want one", m)
	}
}

func TestUnmountSubPaths(t *testing.T) {
	s := aVolume(t)
	write(t, filepath.Join(s.volume, "d/f"), "keep me")
	if err := s.bind("d"); err != nil {
		t.Fatal(err)
	}
	after := New(filepath.Dir(s.m.PodsDir())) // as after a crash
	for range 2 {
		if err := errors.Join(after.Unmount(t.Context(), "u1"), after.RemovePod(t.Context(), "u1")); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.mounts(); len(m) > 0 {
		t.Errorf("still mounted: %v", m)
	}
	mustBeGone(t, s.m.Dir("u1"))
	mustLive(t, filepath.Join(s.volume, "d/f"))
}

func TestUnmountReportsMountInSubPath(t *testing.T) {
	s := aVolume(t)
	if err := s.bind("d"); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(s.target(), "m")
	if err := errors.Join(os.Mkdir(foreign, 0o755), unix.Mount("none", foreign, "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	err := s.m.Unmount(t.Context(), "u1")
	if err == nil || !strings.Contains(err.Error(), "still mounted in it: ") || !strings.Contains(err.Error(), foreign) || !strings.Contains(hint.Of(err), "umount ") {
		t.Errorf("error %v, want one that names %s", err, foreign)
	}
	if err := unmount(foreign); err != nil {
		t.Fatal(err)
	}
}

func TestSubPathTargetInPodDirectory(t *testing.T) {
	s := aVolume(t)
	for _, target := range []string{s.volume, s.m.Dir("u1"), filepath.Join(s.target(), "deeper"), filepath.Join(s.m.Dir("u2"), "volume-subpaths/v/c/0")} {
		if err := s.m.BindSubPath("u1", s.volume, "d", target); err == nil {
			t.Errorf("mounted at %s", target)
		}
	}
	mustBeGone(t, filepath.Join(s.volume, "d"))
}
