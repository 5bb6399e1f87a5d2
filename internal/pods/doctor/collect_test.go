package doctor

import (
	"maps"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// Shims and mounts of what the runtime lists are no leftovers, nor are those that go
// soon: the runtime has just removed their pod.
func TestTerminatingPodIsNoLeftover(t *testing.T) {
	all := found{
		shims:  []Shim{{1, "listed"}, {2, "going"}, {3, "stays"}},
		mounts: map[string]string{"listed": "/l", "going": "/g", "stays": "/s"},
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		left := all.without(map[string]bool{"listed": true}).recheck(t.Context(), func() found {
			now := found{shims: all.shims, mounts: maps.Clone(all.mounts)}
			if time.Since(begin) > 3*time.Second {
				now.shims = []Shim{{1, "listed"}, {2, "another of this PID"}, {3, "stays"}}
				delete(now.mounts, "going")
			}
			return now
		})
		if want := []Shim{{3, "stays"}}; !reflect.DeepEqual(left.shims, want) {
			t.Errorf("shims %v, want %v", left.shims, want)
		}
		if want := map[string]string{"stays": "/s"}; !maps.Equal(left.mounts, want) {
			t.Errorf("mounts %v, want %v", left.mounts, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		left := all.without(map[string]bool{"listed": true}).recheck(t.Context(), func() found { return found{} })
		if took := time.Since(begin); took >= time.Second || len(left.shims)+len(left.mounts) > 0 {
			t.Errorf("%v after %s", left, took)
		}
		all.without(map[string]bool{"listed": true, "going": true, "stays": true}).recheck(t.Context(), nil) // does not look again
	})
}
