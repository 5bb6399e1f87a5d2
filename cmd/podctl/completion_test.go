package main

import (
	"testing"
	"time"

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

			release := w.sim.Inject("method=" + method + " hang")
			c = w.start(nil, "__complete", "--", "pods", "w")
			c.ends(shell.ExitOK, 100*time.Millisecond)
			c.silent()
			release()
			time.Sleep(time.Minute) // what was asked ends
		})
	}
}
