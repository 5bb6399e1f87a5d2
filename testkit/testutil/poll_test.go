package testutil

import (
	"fmt"
	"runtime"
	"strings"
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

// failing is a test that ends its goroutine when it fails.
type failing struct {
	testing.TB
	text string
}

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestMovingWaitsWhileSomethingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		minutes := func() int { return int(time.Since(start) / time.Minute) }
		Moving(t, 2*time.Minute, "an hour has passed", func() bool { return minutes() >= 60 }, func() string { return fmt.Sprint(minutes()) })

		start = time.Now()
		f := &failing{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Moving(f, 2*time.Minute, "an hour has passed", func() bool { return minutes() >= 60 }, func() string { return fmt.Sprint(min(minutes(), 5)) })
		}()
		<-done
		if took := time.Since(start); took < 7*time.Minute || took > 8*time.Minute {
			t.Errorf("nothing changed after 5m: failed after %s, want 7m", took)
		}
		if want := "nothing has changed for 2m0s: an hour has passed\n5"; !strings.Contains(f.text, want) {
			t.Errorf("it said %q, want %q", f.text, want)
		}
	})
}
