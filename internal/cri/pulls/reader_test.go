package pulls_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/sim"
)

func bubble(t *testing.T, f func(*testing.T, *sim.Runtime, *cri.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := sim.New(sim.Options{})
		c, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: r.Dial})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(); r.Close() })
		f(t, r, c)
	})
}

func TestListPullsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *cri.Client) {
		r.SetImage("r.io:5000/app:1", sim.ImageScript{Absent: true, PullTakes: 10 * time.Second, Size: 4000})
		reader, began := pulls.NewReader(c, time.Now), time.Now()
		if all, err := reader.List(t.Context()); err != nil || len(all) > 0 {
			t.Fatalf("before the pull: %+v, %v", all, err)
		}
		pulled := make(chan error)
		go func() {
			_, err := c.PullImage(t.Context(), "r.io:5000/app:1", nil, nil)
			pulled <- err
		}()
		var before *pulls.Pull
		for _, want := range []struct {
			done []int64
			rate float64
		}{{[]int64{600, 600}, 600}, {[]int64{1000, 1200}, 500}, {[]int64{1000, 1800}, 300}} {
			time.Sleep(2 * time.Second)
			synctest.Wait()
			all, err := reader.List(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatalf("during the pull: %+v, %v", all, err)
			}
			p := all[0]
			if len(p.Layers) != 2 || p.Layers[0].Done != want.done[0] || p.Layers[1].Done != want.done[1] || p.Total() != 4000 || !p.Since.Equal(began) || !p.Of("r.io:5000/app:1") {
				t.Errorf("%+v", p)
			}
			if rate := pulls.Rate(before, p); rate != want.rate {
				t.Errorf("rate %v, want %v", rate, want.rate)
			}
			before = &p
		}
		if err := <-pulled; err != nil {
			t.Fatal(err)
		}
		if all, err := reader.List(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("after the pull: %+v, %v", all, err)
		}
	})
}

// CRI-O serves the CRI alone.
func TestListUnsupported(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *cri.Client) {
		r.InjectRules(rules.Rule{Method: "ListStatuses", Last: 1, Error: codes.Unimplemented, Message: "unknown service containerd.services.content.v1.Content"})
		if all, err := pulls.NewReader(c, time.Now).List(t.Context()); !errors.Is(err, cri.ErrUnsupported) || all != nil {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// A runtime that hangs costs one reading call's time, however many calls there would be.
func TestListHasOneDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *cri.Client) {
		slow := cri.DefaultTimeout - time.Second
		r.InjectRules(rules.Rule{Method: "ListStatuses", DelayMin: slow, DelayMax: slow}, rules.Rule{Method: "List", Hang: true})
		begun := time.Now()
		_, err := pulls.NewReader(c, time.Now).List(t.Context())
		if took := time.Since(begun); !errors.Is(err, cri.ErrDeadline) || took != cri.DefaultTimeout {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
