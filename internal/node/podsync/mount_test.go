package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

// volumeError is what internal/node/volume says of a volume.
type volumeError struct{ old bool }

func (e volumeError) Error() string        { return "set up volume" }
func (e volumeError) EventMessage() string { return "MountVolume.SetUp failed" }
func (e volumeError) Harmless() bool       { return e.old }

// mounter is a host whose volumes fail.
type mounter struct {
	*fakeHost
	errs []error
	seen []pod.VolumeInput
}

func (m *mounter) Mount(ctx context.Context, p *v1.Pod, in pod.VolumeInput) (map[string]string, error) {
	m.seen = append(m.seen, in)
	paths, err := m.fakeHost.Mount(ctx, p, in)
	return paths, errors.Join(append(m.errs, err)...)
}

// aMounter is a bench whose volumes fail as said, and a pod with a volume.
func aMounter(t *testing.T, errs ...error) (*bench, *mounter, *v1.Pod) {
	b := newBench(t)
	m := &mounter{fakeHost: b.host, errs: errs}
	b.opt.Volumes = m
	b.syncer = podsync.New(b.opt)
	p := podOf(v1.RestartPolicyAlways, v1.Container{Name: "c", Image: "busybox:1"})
	p.Spec.Volumes = []v1.Volume{{Name: "v"}}
	return b, m, p
}

func TestVolumeFailureBlocksStartAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, p := aMounter(t, volumeError{}, volumeError{old: true})
		var pauses []time.Duration
		for range 7 {
			_, err := b.sync(p)
			var again interface{ RetryAt() (time.Time, bool) }
			if !errors.As(err, &again) {
				t.Fatalf("error %v", err)
			}
			at, _ := again.RetryAt()
			pauses = append(pauses, time.Until(at))
		}
		if got := fmt.Sprint(pauses); got != "[500ms 1s 2s 4s 8s 10s 10s]" {
			t.Errorf("tried again after %s", got)
		}
		if calls := b.calls(); len(calls) > 0 {
			t.Errorf("called %v", calls)
		}
		if e := b.events.list[0]; !e.Warning || e.Reason != "FailedMount" || e.Message != "MountVolume.SetUp failed" || len(b.events.list) != 14 {
			t.Errorf("%d events, first %+v", len(b.events.list), e)
		}
		m.errs = nil
		b.mustSync(p)
		m.errs = []error{volumeError{}}
		_, err := b.sync(p)
		if at := retryAt(t, err); time.Until(at) != 500*time.Millisecond {
			t.Errorf("after a success, tried again after %s", time.Until(at))
		}
	})
}

func TestOutdatedVolumeDoesNotBlockStart(t *testing.T) {
	b, _, p := aMounter(t, volumeError{old: true})
	b.mustSync(p)
	if calls := b.calls(); len(calls) == 0 {
		t.Error("nothing was started")
	}
}

func TestVolumesMountedAtEverySync(t *testing.T) {
	b, m, p := aMounter(t)
	objects := &pod.Objects{}
	for range 3 {
		if _, err := b.syncer.Sync(t.Context(), podsync.SyncInput{Pod: p, Status: b.rt.snapshot(), Objects: objects}); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.seen) != 3 || m.seen[2].Objects != objects {
		t.Fatalf("mounted %d times, with %+v", len(m.seen), m.seen)
	}
	name, err := m.seen[2].Downward(v1.DownwardAPIVolumeFile{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}})
	if err != nil || name != p.Name {
		t.Errorf("the downward API says %q, %v", name, err)
	}
}

// What volumes in memory may hold at most is what the node has for pods.
func TestVolumesGetAllocatableMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, p := aMounter(t)
		node := *b.opt.Node
		node.Allocatable = v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")}
		b.opt.Node = &node
		b.syncer = podsync.New(b.opt)
		if _, err := b.sync(p); err != nil {
			t.Fatal(err)
		}
		if len(m.seen) == 0 || m.seen[0].Memory != 64<<20 {
			t.Errorf("volumes were told %+v", m.seen)
		}
	})
}
