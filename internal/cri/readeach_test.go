package cri

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

func TestHangingReadsHoldUpNoOtherRead(t *testing.T) {
	for _, c := range []struct {
		name           string
		hanging, alive int
	}{
		{"none hangs", 0, 40},
		{"one hangs", 1, 40},
		{"more hang than are asked at once", 3 * readEachLimit, 40},
		{"all hang", 1000, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			errs := ReadEach(t.Context(), c.hanging+c.alive, func(ctx context.Context, i int) error {
				if i < c.hanging {
					<-ctx.Done()
					return ctx.Err()
				}
				time.Sleep(time.Millisecond)
				return nil
			})
			for i, err := range errs {
				if unread := err != nil; unread != (i < c.hanging) || errors.Is(err, context.Canceled) {
					t.Fatalf("%s: read %d: %v", c.name, i, err)
				}
			}
			if took := time.Since(start); took > 2*ReadEachTimeout {
				t.Errorf("%s: took %s", c.name, took)
			}
		})
	}
}

func TestSlowReadsAreAllAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i, err := range ReadEach(t.Context(), 1000, func(context.Context, int) error {
			time.Sleep(90 * time.Millisecond)
			return nil
		}) {
			if err != nil {
				t.Fatalf("read %d: %v", i, err)
			}
		}
	})
}

// TestPartialStatusOfPodWithHangingContainer: what can be read of a pod is known
// although the status of one container hangs.
func TestPartialStatusOfPodWithHangingContainer(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		cfg := sandboxConfig("a", 0)
		sb := must(t)(c.RunPodSandbox(t.Context(), cfg, ""))
		ids := map[string]string{}
		for _, name := range []string{"sick", "sound"} {
			ids[name] = must(t)(c.CreateContainer(t.Context(), sb, containerConfig("a", name, 0, "sh", "-c", "exit 3"), cfg))
			if err := c.StartContainer(t.Context(), ids[name]); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		r.Inject("method=ContainerStatus container=sick hang")
		pods, err := c.ListPods(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st, err := c.PartialStatus(t.Context(), pods[0])
		if !errors.Is(err, ErrDeadline) {
			t.Errorf("error %v", err)
		}
		if st == nil || len(st.Sandboxes) != 1 || st.ContainerByID(ids["sick"]) != nil {
			t.Fatalf("status %+v", st)
		}
		if sound := st.ContainerByID(ids["sound"]); sound == nil || sound.State != pod.Exited || sound.ExitCode != 3 {
			t.Errorf("the other container: %+v", sound)
		}
	})
}
