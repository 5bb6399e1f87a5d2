package podsync_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/podsync"
)

// TestCrashBackoffDoublesUpToFiveMinutes lets a container crash at
// once, again and again.
func TestCrashBackoffDoublesUpToFiveMinutes(t *testing.T) {
	var b podsync.Backoff
	now := t0
	if _, waiting := b.UntilAfter("k", now, now); waiting {
		t.Error("the first restart waits; want it at once")
	}
	for i, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		b.Next("k", now, now) // it is started,
		finished := now       // and crashes
		until, waiting := b.UntilAfter("k", finished, now)
		if !waiting || until.Sub(finished) != want*time.Second {
			t.Errorf("crash %d: waits until %v after its end (%v); want %v", i+1, until.Sub(finished), waiting, want*time.Second)
		}
		if _, waiting := b.UntilAfter("k", finished, until); waiting {
			t.Errorf("crash %d: still waits when its back-off is over", i+1)
		}
		now = until
	}
}

func TestCrashBackoffStartsAtExit(t *testing.T) {
	var b podsync.Backoff
	b.Next("k", t0, t0)
	finished := t0.Add(5 * time.Minute) // it ran for a while
	if until, waiting := b.UntilAfter("k", finished, finished); !waiting || !until.Equal(finished.Add(10*time.Second)) {
		t.Errorf("waits until %v (%v); want 10s after its end", until, waiting)
	}
}

func TestCrashBackoffWithARuntimeWhoseClockIsBehind(t *testing.T) {
	const behind = 24 * time.Hour
	var b podsync.Backoff
	b.Next("k", t0.Add(-behind), t0)
	now := t0.Add(time.Second)
	if until, waiting := b.UntilAfter("k", now.Add(-behind), now); !waiting || !until.Equal(t0.Add(10*time.Second)) {
		t.Errorf("waits until %v (%v); want 10s after its start", until, waiting)
	}
	if _, waiting := b.UntilAfter("k", t0.Add(-behind), now); waiting {
		t.Error("waits for the exit before a start that failed; it was over")
	}
}

func TestBackoffResetsAfterTenMinutes(t *testing.T) {
	var b podsync.Backoff
	b.Next("k", t0, t0)
	b.Next("k", t0, t0)
	finished := t0.Add(10*time.Minute + time.Second)
	if _, waiting := b.UntilAfter("k", finished, finished); waiting {
		t.Error("waits after more than ten good minutes")
	}
	b.Next("k", finished, finished)
	if got := b.Delay("k"); got != 10*time.Second {
		t.Errorf("restarts with %v; want 10s", got)
	}
}

func TestPullBackoffStartsAtFailure(t *testing.T) {
	var b podsync.Backoff
	if _, waiting := b.Until("image", t0); waiting {
		t.Error("the first pull waits")
	}
	b.Next("image", t0, t0)
	if until, waiting := b.Until("image", t0.Add(3*time.Second)); !waiting || !until.Equal(t0.Add(10*time.Second)) {
		t.Errorf("waits until %v (%v); want 10s after the failure", until, waiting)
	}
	if _, waiting := b.Until("another", t0); waiting {
		t.Error("another image waits too")
	}
}

func TestBackoffKeyFollowsImageAndResources(t *testing.T) {
	p := podOf(v1.RestartPolicyAlways, container("c"))
	c := p.Spec.Containers[0]
	base := podsync.BackoffKey(p, &c)
	same := c
	same.Command = []string{"other"}
	if podsync.BackoffKey(p, &same) != base {
		t.Error("the command is part of the key; the kubelet's has it not")
	}
	image, resources := c, c
	image.Image = "other"
	resources.Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}
	if podsync.BackoffKey(p, &image) == base || podsync.BackoffKey(p, &resources) == base {
		t.Error("image and resources are not part of the key")
	}
}

// The runtime dates an exit, and the clock is set back after it.
func TestCrashBackoffAfterClockSetBack(t *testing.T) {
	var b podsync.Backoff
	b.Next("k", t0, t0)
	finished := t0.Add(time.Hour)
	now := t0.Add(3 * time.Second)
	until, waiting := b.UntilAfter("k", finished, now)
	if !waiting || !until.Equal(t0.Add(10*time.Second)) {
		t.Errorf("waits until %v (%v); want 10s after the start", until, waiting)
	}
	if _, waiting := b.UntilAfter("k", finished, until); waiting {
		t.Error("still waits when the back-off is over")
	}
}
