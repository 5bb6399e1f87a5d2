package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// A key press does not wait for a runtime that hangs, whichever call hangs.
func TestCompletionDoesNotWaitForAHungRuntime(t *testing.T) {
	for _, method := range []string{"Version", "ListPodSandbox"} {
		inWorld(t, func(t *testing.T, w *world) {
			w.foreign("default", "web")
			c := w.start(nil, "__complete", "--", "pods", "w")
			c.ends(shell.ExitOK, 100*time.Millisecond)
			c.printed("web\trunning\n")

			release := w.sim.Hang(method, "")
			c = w.start(nil, "__complete", "--", "pods", "w")
			c.ends(shell.ExitOK, 100*time.Millisecond)
			c.silent()
			release()
			time.Sleep(time.Minute) // what was asked ends
		})
	}
}

// Finding out why a connection hangs takes longer than the connection's own deadline.
func TestCompletionEndsInTimeWhateverItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		all := inTime(t.Context(), completionTimeout, func(context.Context) []cmdline.Candidate {
			time.Sleep(time.Second)
			return []cmdline.Candidate{{Word: "late"}}
		})
		if took := time.Since(begun); len(all) > 0 || took != completionTimeout {
			t.Errorf("%v after %s", all, took)
		}
		time.Sleep(time.Second)
	})
}
