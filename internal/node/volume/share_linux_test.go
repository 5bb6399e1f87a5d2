package volume

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// inPrivateMounts runs the test in a mount namespace of its own in which
// nothing is shared. The thread that it is on ends with it.
func inPrivateMounts(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			t.Error(err)
			return
		}
		test(t)
	}()
	<-done
}

func propagating(how v1.MountPropagationMode) *v1.Pod {
	p := podWith(empty("a"))
	p.Spec.Containers[0].VolumeMounts[0].MountPropagation = &how
	return p
}

func TestBidirectionalMountSharesDirectory(t *testing.T) {
	for how, want := range map[v1.MountPropagationMode]bool{
		v1.MountPropagationNone:            false,
		v1.MountPropagationHostToContainer: true,
		v1.MountPropagationBidirectional:   true,
	} {
		t.Run(string(how), func(t *testing.T) {
			root := t.TempDir()
			inPrivateMounts(t, func(t *testing.T) {
				p := propagating(how)
				for range 2 { // again by another podctl
					m := New(root)
					paths, err := m.Mount(t.Context(), p, pod.VolumeInput{})
					if err != nil {
						t.Error(err)
						return
					}
					if shared, err := isShared(paths["a"]); shared != want || err != nil {
						t.Errorf("the volume is on a shared mount: %v, %v, want %v", shared, err, want)
					}
				}
				m := New(root)
				if points, _ := mountsIn(m.Dir(p.UID)); want && len(points) != 1 {
					t.Errorf("mounted %v, want one", points)
				}
				if err := m.Unmount(t.Context(), p.UID); err != nil {
					t.Error(err)
				}
				if err := m.RemovePod(t.Context(), p.UID); err != nil {
					t.Error(err)
				}
				mustBeGone(t, m.Dir(p.UID))
			})
		})
	}
}

func TestShareOnSharedMountAddsNoMount(t *testing.T) {
	root := t.TempDir()
	inPrivateMounts(t, func(t *testing.T) {
		if err := unix.Mount(root, root, "", unix.MS_BIND, ""); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Mount("", root, "", unix.MS_SHARED, ""); err != nil {
			t.Error(err)
			return
		}
		m := New(root)
		p := propagating(v1.MountPropagationBidirectional)
		if _, err := m.Mount(t.Context(), p, pod.VolumeInput{}); err != nil {
			t.Error(err)
		}
		if points, err := mountsIn(m.Dir(p.UID)); err != nil || len(points) > 0 {
			t.Errorf("mounted %v, %v", points, err)
		}
	})
}

func TestUnshareReportsForeignMount(t *testing.T) {
	root := t.TempDir()
	inPrivateMounts(t, func(t *testing.T) {
		m := New(root)
		p := propagating(v1.MountPropagationBidirectional)
		paths, err := m.Mount(t.Context(), p, pod.VolumeInput{})
		if err != nil {
			t.Error(err)
			return
		}
		left := filepath.Join(paths["a"], "left")
		write(t, filepath.Join(left, "f"), "keep me")
		if err := unix.Mount(left, left, "", unix.MS_BIND, ""); err != nil {
			t.Error(err)
		}
		if err := m.Unmount(t.Context(), p.UID); err == nil {
			t.Error("removed a directory with a mount in it")
		}
		mustLive(t, filepath.Join(left, "f"))
		if err := unmount(left); err != nil {
			t.Error(err)
		}
		if err := m.Unmount(t.Context(), p.UID); err != nil {
			t.Error(err)
		}
	})
}
