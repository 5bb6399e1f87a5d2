package main

import (
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// In a crash loop, logs -p is the attempt that ended last: the newest while the container
// waits, the one before it while it runs.
func TestLogsPreviousInCrashLoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		logs := func(args ...string) string {
			t.Helper()
			c := w.start(nil, append([]string{"logs", "-t", "job"}, args...)...)
			c.ends(shell.ExitOK, time.Second)
			return c.out.String()
		}
		run := w.run("apiVersion: v1\nkind: Pod\nmetadata: {name: job}\nspec:\n" +
			"  containers: [{name: job, image: busybox, command: [sh, -c, \"echo up; sleep 2; exit 1\"]}]\n")
		first := logs() // it has ended, and is started again after 10 s
		if got := logs("-p"); got != first || !strings.HasSuffix(got, " up\n") {
			t.Errorf("while it waits, logs -p prints %q, and logs %q", got, first)
		}
		time.Sleep(5 * time.Second)
		if got := logs("-p"); got != first || logs() == first {
			t.Errorf("while the second attempt runs, logs -p prints %q, and logs %q; the first attempt's is %q", got, logs(), first)
		}
		time.Sleep(4 * time.Second)
		if got := logs("-p"); got == first || got != logs() {
			t.Errorf("while it waits again, logs -p prints %q, and logs %q", got, logs())
		}
		run.interrupt()
		run.ends(shell.ExitInterrupted, time.Minute)
	})
}
