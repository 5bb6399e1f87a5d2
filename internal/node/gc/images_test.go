package gc

import (
	"strings"
	"testing"
	"time"
)

func TestImagesToRemove(t *testing.T) {
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	images := []Image{
		{ID: "used", Size: 10, Used: true}, {ID: "pinned", Size: 10, Pinned: true}, {ID: "young", Size: 10},
		{ID: "recent", Size: 10}, {ID: "stale", Size: 10}, {ID: "never-2", Size: 10}, {ID: "never-1", Size: 10},
	}
	seen := map[string]Seen{
		"used": {ago(60), now}, "pinned": {ago(60), time.Time{}}, "young": {ago(1), time.Time{}},
		"recent": {ago(60), ago(5)}, "stale": {ago(60), ago(50)}, "never-1": {ago(60), time.Time{}}, "never-2": {ago(30), time.Time{}},
	}
	for need, want := range map[uint64]string{0: "", 1: "never-1", 10: "never-1", 11: "never-1 never-2", 1000: "never-1 never-2 stale recent"} {
		var got []string
		for _, i := range ImagesToRemove(images, seen, need, ImagePolicy{MinAge: 2 * time.Minute}, now) {
			got = append(got, i.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("to free %d: %v, want %s", need, got, want)
		}
	}
}

func TestNeed(t *testing.T) {
	p := ImagePolicy{High: 85, Low: 80}
	for _, c := range []struct {
		capacity, available, want uint64
		policy                    ImagePolicy
	}{
		{1000, 200, 0, p},
		{1000, 160, 0, p},
		{1000, 150, 50, p},
		{1000, 0, 200, p},
		{0, 0, 0, p},
		{1000, 2000, 0, p},
		{1000, 0, 0, ImagePolicy{High: 100, Low: 80}},
	} {
		if got := c.policy.BytesToFree(c.capacity, c.available); got != c.want {
			t.Errorf("%d of %d free: need %d, want %d", c.available, c.capacity, got, c.want)
		}
	}
}

func TestImageLastUsed(t *testing.T) {
	first := UpdateSeen(nil, []Image{{ID: "a", Used: true}, {ID: "b"}}, now)
	later := now.Add(time.Hour)
	second := UpdateSeen(first, []Image{{ID: "a"}, {ID: "c"}}, later)
	if want := (Seen{First: now, Used: now}); second["a"] != want {
		t.Errorf("a %+v, want %+v", second["a"], want)
	}
	if want := (Seen{First: later}); second["c"] != want {
		t.Errorf("c %+v, want %+v", second["c"], want)
	}
	if _, ok := second["b"]; ok || len(first) != 2 {
		t.Errorf("b is gone, and what was known before is not changed: %v %v", first, second)
	}
}
