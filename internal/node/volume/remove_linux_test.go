package volume

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/pod"
)

// aPodOnDisk has a pod with an emptyDir, and a file outside that must live.
func aPodOnDisk(t *testing.T) (m *Manager, volume, outside string) {
	t.Helper()
	m = New(t.TempDir())
	paths, err := m.Mount(t.Context(), podWith(empty("a")), pod.VolumeInput{})
	if err != nil {
		t.Fatal(err)
	}
	outside = filepath.Join(t.TempDir(), "outside", "precious")
	write(t, outside, "keep me")
	return m, paths["a"], outside
}

func TestRemoveIsCompleteAndIdempotent(t *testing.T) {
	m, volume, outside := aPodOnDisk(t)
	write(t, filepath.Join(volume, "deep/er/file"), "")
	if err := errors.Join(
		os.Symlink(filepath.Dir(outside), filepath.Join(volume, "deep/link")),
		os.Symlink("/no/such", filepath.Join(volume, "dangling")),
		os.Chmod(filepath.Join(volume, "deep/er"), 0o555),
		unix.Mkfifo(filepath.Join(volume, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		if err := os.Chmod(filepath.Join(volume, "deep/er"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.TerminationLog("u1", "c"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Unmount(t.Context(), "u1"); err != nil {
			t.Fatal(err)
		}
		mustBeGone(t, filepath.Join(m.Dir("u1"), "volumes"))
	}
	for range 2 {
		if err := m.RemovePod(t.Context(), "u1"); err != nil {
			t.Fatal(err)
		}
		mustBeGone(t, m.Dir("u1"))
	}
	mustLive(t, outside)
}

func TestRemoveFollowsNoSymlink(t *testing.T) {
	for _, place := range []string{"", "volumes", "volumes/kubernetes.io~empty-dir", "volumes/kubernetes.io~empty-dir/a"} {
		t.Run("pod/"+place, func(t *testing.T) {
			m, _, outside := aPodOnDisk(t)
			at := filepath.Join(m.Dir("u1"), place)
			// What the link leads to has the tree that the removal expects.
			write(t, filepath.Join(filepath.Dir(outside), "volumes/kubernetes.io~empty-dir/a/precious"), "keep me")
			if err := errors.Join(os.RemoveAll(at), os.Symlink(filepath.Dir(outside), at)); err != nil {
				t.Fatal(err)
			}
			err := m.Unmount(t.Context(), "u1")
			if place == "" && err == nil {
				t.Error("the pod's directory is a symlink, and Unmount went through it")
			}
			if err := m.RemovePod(t.Context(), "u1"); err != nil {
				t.Fatal(err)
			}
			mustBeGone(t, m.Dir("u1"))
			mustLive(t, outside)
			mustLive(t, filepath.Join(filepath.Dir(outside), "volumes/kubernetes.io~empty-dir/a/precious"))
		})
	}
}

// TestRemoveSurvivesDirectorySwap removes a tree, again and again, while a
// goroutine keeps exchanging a directory in it with a symlink to elsewhere.
func TestRemoveSurvivesDirectorySwap(t *testing.T) {
	m, volume, outside := aPodOnDisk(t)
	at, link := filepath.Join(volume, "swapped"), filepath.Join(volume, "link")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, link, unix.AT_FDCWD, at, unix.RENAME_EXCHANGE)
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		swapper.Wait()
	})
	for range 200 {
		write(t, filepath.Join(at, "bait"), "")
		if err := os.Symlink(filepath.Dir(outside), link); err != nil {
			t.Fatal(err)
		}
		// The exchange may make it fail; then the exchange has ended.
		for m.RemovePod(t.Context(), "u1") != nil {
		}
		mustLive(t, outside)
	}
	mustBeGone(t, m.Dir("u1"))
}

// bind mounts what onto at until the test ends.
func bind(t *testing.T, what, at string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount")
	}
	if err := unix.Mount(what, at, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			t.Error(err)
		}
	})
}

func TestRemoveRefusesTreeWithMount(t *testing.T) {
	for _, kind := range []string{"directory", "file"} {
		t.Run(kind, func(t *testing.T) {
			m, volume, outside := aPodOnDisk(t)
			write(t, filepath.Join(volume, "other"), "")
			at := filepath.Join(volume, "mnt")
			what := outside
			if kind == "directory" {
				what = filepath.Dir(outside)
				if err := os.Mkdir(at, 0o755); err != nil {
					t.Fatal(err)
				}
			} else {
				write(t, at, "")
			}
			bind(t, what, at)
			for name, err := range map[string]error{"Unmount": m.Unmount(t.Context(), "u1"), "RemovePod": m.RemovePod(t.Context(), "u1")} {
				if err == nil || !strings.Contains(err.Error(), "still mounted in it: "+at) {
					t.Errorf("%s: error %v does not name %s", name, err, at)
				}
			}
			mustLive(t, outside)
			if _, err := os.Stat(filepath.Join(volume, "other")); err != nil {
				t.Errorf("something was removed: %v", err)
			}
			if err := errors.Join(unix.Unmount(at, 0), m.RemovePod(t.Context(), "u1")); err != nil {
				t.Fatal(err)
			}
			mustBeGone(t, m.Dir("u1"))
			mustLive(t, outside)
		})
	}
}

// TestRemoveDoesNotCrossLateMount walks past the look at
// mountinfo: the mount is of the same file system, so only its id tells.
func TestRemoveDoesNotCrossLateMount(t *testing.T) {
	m, volume, outside := aPodOnDisk(t)
	at := filepath.Join(volume, "mnt")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	bind(t, filepath.Dir(outside), at)
	dir, err := os.Open(m.PodsDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := removeIn(t.Context(), dir, "u1"); err == nil || !strings.Contains(err.Error(), at+": a file system is mounted there") {
		t.Errorf("error %v does not name %s", err, at)
	}
	mustLive(t, outside)
}
