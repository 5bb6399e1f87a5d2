package pulls

import (
	"math"
	"testing"
	"time"
)

const (
	digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	digestC = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
	digestD = "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
)

var epoch = time.Unix(1_000_000, 0).UTC()

func TestDoneAndTotal(t *testing.T) {
	for name, test := range map[string]struct {
		layers      []Layer
		done, total int64
		transferred bool
	}{
		"no layers":        {nil, 0, 0, false},
		"in flight":        {[]Layer{{Done: 10, Total: 10}, {Done: 5, Total: 20}}, 15, 30, false},
		"one size unknown": {[]Layer{{Done: 10, Total: 10}, {Done: 5}}, 15, 0, false},
		"all there":        {[]Layer{{Done: 10, Total: 10}, {Done: 20, Total: 20}}, 30, 30, true},
		"sizes overflow":   {[]Layer{{Done: 1, Total: math.MaxInt64}, {Done: math.MaxInt64, Total: math.MaxInt64}}, math.MaxInt64, math.MaxInt64, false},
	} {
		p := Pull{Layers: test.layers}
		if p.Done() != test.done || p.Total() != test.total || p.Transferred() != test.transferred {
			t.Errorf("%s: %d of %d, transferred %t", name, p.Done(), p.Total(), p.Transferred())
		}
	}
}

func TestPullOfImage(t *testing.T) {
	for _, test := range []struct {
		repository, image string
		want              bool
	}{
		{"docker.io/library/busybox", "busybox", true},
		{"docker.io/library/busybox", "busybox:1.37", true},
		{"docker.io/library/busybox", "docker.io/library/busybox:1.37", true},
		{"docker.io/library/busybox", "busybox@" + digestA, true},
		{"docker.io/library/busybox", "busybox:1@" + digestB, false},
		{"docker.io/library/busybox", "quay.io/library/busybox", false},
		{"docker.io/library/busybox", "other", false},
		{"127.0.0.1/team/app", "127.0.0.1:5000/team/app:1", true},
		{"::1/app", "[::1]:5000/app:1", true},
		{"docker.io/library/busybox", "Not A Name", false},
		{"docker.io/library/busybox", "", false},
	} {
		p := Pull{Repositories: []string{test.repository}, Digests: []string{digestA}}
		if got := p.Of(test.image); got != test.want {
			t.Errorf("pull from %s is of %q: %t", test.repository, test.image, got)
		}
	}
}

func TestFindRefusesToGuess(t *testing.T) {
	a := Pull{Image: "a", Repositories: []string{"r.io/app"}, Digests: []string{digestA}}
	b := Pull{Image: "b", Repositories: []string{"r.io/app"}, Digests: []string{digestB}}
	if found := Find([]Pull{a, b}, "r.io/app:1"); found != nil {
		t.Errorf("found %+v of two", found)
	}
	if found := Find([]Pull{a, b}, "r.io/app@"+digestB); found == nil || found.Image != "b" {
		t.Errorf("found %+v by digest", found)
	}
	if found := Find(nil, "r.io/app"); found != nil {
		t.Errorf("found %+v of none", found)
	}
}

func TestRate(t *testing.T) {
	at := func(seconds int, layers ...Layer) Pull {
		return Pull{At: epoch.Add(time.Duration(seconds) * time.Second), Layers: layers}
	}
	before := at(10, Layer{Digest: digestA, Done: 100}, Layer{Digest: digestB, Done: 50})
	for name, test := range map[string]struct {
		before *Pull
		now    Pull
		want   float64
	}{
		"both layers grow":                            {&before, at(12, Layer{Digest: digestA, Done: 200}, Layer{Digest: digestB, Done: 150}), 100},
		"a layer that is new does not count":          {&before, at(12, Layer{Digest: digestA, Done: 120}, Layer{Digest: digestC, Done: 900}), 10},
		"a transfer that began anew":                  {&before, at(12, Layer{Digest: digestA, Done: 10}), 0},
		"no time between":                             {&before, at(10, Layer{Digest: digestA, Done: 200}), 0},
		"one observation":                             {nil, at(10, Layer{Done: 500, Started: epoch}, Layer{Done: 100, Started: epoch.Add(5 * time.Second)}), 70},
		"one observation, nothing in transit":         {nil, at(10, Layer{Done: 500}), 0},
		"one observation of a pull that stands still": {nil, at(60, Layer{Done: 500, Started: epoch, Updated: epoch.Add(10 * time.Second)}), 0},
		"the clock went back":                         {nil, at(-1, Layer{Done: 500, Started: epoch}), 0},
	} {
		if got := Rate(test.before, test.now); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A rate is that of the last ten seconds: containerd counts by the megabyte.
func TestHistoryMeasuresOverAWindow(t *testing.T) {
	var h History
	at := func(second int, done int64) Pull {
		return Pull{Image: "app", Since: epoch, At: epoch.Add(time.Duration(second) * time.Second), Layers: []Layer{{Digest: digestA, Done: done, Started: epoch}}}
	}
	for _, step := range []struct {
		second int
		done   int64
		want   float64
	}{{4, 400, 100}, {5, 400, 80}, {7, 1400, 1000.0 / 3}, {14, 1400, 100}, {15, 1400, 1000.0 / 11}, {20, 1400, 0}} {
		now := at(step.second, step.done)
		h.Add([]Pull{now})
		if got := h.Rate(now); got != step.want {
			t.Errorf("after %d s: %v, want %v", step.second, got, step.want)
		}
	}
	h.Add(nil)
	if again := at(30, 300); h.Rate(again) != 10 {
		t.Errorf("of a pull that began anew: %v", h.Rate(again))
	}
}

func TestIdleIsTheTimeSinceAnyLayerGrew(t *testing.T) {
	at := epoch.Add(time.Minute)
	for name, test := range map[string]struct {
		layers []Layer
		want   time.Duration
	}{
		"nothing in flight":     {[]Layer{{Done: 5, Total: 5}, {Total: 5}}, 0},
		"one layer grows":       {[]Layer{{Updated: epoch}, {Updated: at.Add(-2 * time.Second)}}, 2 * time.Second},
		"none grows":            {[]Layer{{Updated: epoch.Add(10 * time.Second)}, {Updated: epoch}}, 50 * time.Second},
		"none has grown yet":    {[]Layer{{Updated: epoch.Add(-time.Hour)}}, time.Minute},
		"the clock is set back": {[]Layer{{Updated: at.Add(time.Hour)}}, 0},
	} {
		if got := (Pull{Since: epoch, At: at, Layers: test.layers}).Idle(); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
