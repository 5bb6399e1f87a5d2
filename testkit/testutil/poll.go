package testutil

import (
	"strings"
	"testing"
	"time"
)

const (
	// interval is the time between the first two evaluations of a condition, maxInterval
	// that between the last.
	interval    = 20 * time.Millisecond
	maxInterval = 250 * time.Millisecond
)

// Interval is how long to wait before a condition is evaluated again that has been
// waited for so long: a tenth of that, within bounds. An evaluation may start a process,
// or read the whole of /proc.
func Interval(waited time.Duration) time.Duration {
	return min(max(interval, waited/10), maxInterval)
}

// Poll evaluates done until it returns true or the timeout has passed, and
// reports whether it returned true. It evaluates done at least once.
func Poll(timeout time.Duration, done func() bool) bool {
	began, deadline := time.Now(), time.After(timeout)
	for !done() {
		select {
		case <-time.After(Interval(time.Since(began))):
		case <-deadline:
			return false
		}
	}
	return true
}

// Moving waits until done returns true, however long that takes, and fails the test
// once state has returned the same for stall: how long many pods take depends on what
// else the machine does. what names the condition.
func Moving(t testing.TB, stall time.Duration, what string, done func() bool, state func() string) {
	t.Helper()
	for before, since := "", time.Now(); !done(); time.Sleep(10 * interval) {
		if now := state(); now != before {
			before, since = now, time.Now()
		} else if time.Since(since) >= stall {
			t.Fatalf("nothing has changed for %s: %s\n%s", stall, what, now)
		}
	}
}

// Eventually fails the test unless done returns true before the timeout. what
// names the condition; the texts of explain are added to the failure.
func Eventually(t testing.TB, timeout time.Duration, what string, done func() bool, explain ...func() string) {
	t.Helper()
	if Poll(timeout, done) {
		return
	}
	var details strings.Builder
	for _, text := range explain {
		details.WriteString("\n" + text())
	}
	t.Fatalf("not within %s: %s%s", timeout, what, details.String())
}
