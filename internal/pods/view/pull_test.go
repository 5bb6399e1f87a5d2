package view

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
)

// A pull that has lasted for a while is observed twice; what it received in between is its
// rate. Without names of images pulls are one.
func TestPullsAreObservedTwice(t *testing.T) {
	for name, c := range map[string]struct {
		repository string
		err        error
		received   int64
		want       func(f *Pod) bool
	}{
		"receives": {"docker.io/library/app", nil, 3 << 20, func(f *Pod) bool {
			return f.PullsListed && len(f.Pulls) == 1 && f.Pulls[0].Rate == 1<<20 && f.Pulls[0].Measured == sampleTime
		}},
		"stalls": {"docker.io/library/app", nil, 0, func(f *Pod) bool {
			return len(f.Pulls) == 1 && f.Pulls[0].Rate == 0 && f.Pulls[0].Measured == sampleTime
		}},
		"another image": {"docker.io/library/else", nil, 0, func(f *Pod) bool { return f.PullsListed && len(f.Pulls) == 0 && f.Unnamed == nil }},
		"without a name": {"", cri.ErrUnsupported, 0, func(f *Pod) bool {
			return !f.PullsListed && f.Unnamed != nil && f.Unnamed.Number == 1 && f.Unnamed.Rate == 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				since, done := time.Now().Add(-time.Minute), int64(1<<20)
				s := &pullSampler{now: time.Now, list: func(context.Context) ([]pulls.Pull, error) {
					p := pulls.Pull{Image: c.repository, Repositories: []string{c.repository}, Since: since, At: time.Now(), Layers: []pulls.Layer{{Digest: "a", Done: done, Total: 8 << 20, Started: since}}}
					done += c.received
					return []pulls.Pull{p}, c.err
				}}
				f := Pod{Manager: &control.Process{}, Worker: control.Worker{Start: pod.Start{Step: pod.StepPull, Container: "c"}}, Containers: []Container{{Name: "c", State: Waiting, Image: "app:1"}}}
				s.add(t.Context(), []*Pod{nil, &f})
				if !c.want(&f) {
					t.Errorf("%+v, %v, %+v", f.Pulls, f.PullsListed, f.Unnamed)
				}
			})
		})
	}
}
