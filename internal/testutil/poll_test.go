package testutil

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPollEndsWithTheConditionOrTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if !Poll(time.Minute, func() bool { return time.Since(start) >= time.Second }) || time.Since(start) > 2*time.Second {
			t.Errorf("a condition that holds after 1s: returned after %s", time.Since(start))
		}
		start = time.Now()
		if Poll(time.Minute, func() bool { return false }) || time.Since(start) != time.Minute {
			t.Errorf("a condition that never holds: returned after %s", time.Since(start))
		}
		if !Poll(0, func() bool { return true }) {
			t.Error("a condition that holds already was not evaluated")
		}
	})
}
