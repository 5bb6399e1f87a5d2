package main

import (
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// While the runtime does not answer, what the pod's podctl process knows is printed.
func TestDescribeOfAPodWhileTheRuntimeHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		run := w.run(strings.Replace(jobManifest, "echo done", "sleep 3600", 1))
		heal := w.sim.Inject("method=Version hang")
		c := w.start(nil, "describe", "job")
		c.ends(shell.ExitUnreachable, time.Minute)
		c.printed("default/job  Running", "Worker          syncing", "  job           running for", "Sandbox         not known", "  runtime: it does not answer", "hint: podctl logs -f default/job")
		heal()
		run.interrupt()
		run.ends(130, time.Minute)
	})
}
