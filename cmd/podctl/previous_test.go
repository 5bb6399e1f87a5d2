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
			"  containers: [{name: job, image: busybox, command: [sh, -c, \"echo up; sleep 60; exit 1\"]}]\n")
		time.Sleep(115 * time.Second)
		ended := logs() // of the second attempt; the third one starts after a back-off of 10 s or more
		if got := logs("-p"); got != ended || !strings.HasSuffix(got, " up\n") {
			t.Errorf("while it waits, logs -p prints %q, and logs %q", got, ended)
		}
		time.Sleep(35 * time.Second)
		if got := logs("-p"); got != ended || logs() == ended {
			t.Errorf("while the next attempt runs, logs -p prints %q, and logs %q; that of before is %q", got, logs(), ended)
		}
		time.Sleep(40 * time.Second) // its back-off is 20 s now
		if got := logs("-p"); got == ended || got != logs() {
			t.Errorf("while it waits again, logs -p prints %q, and logs %q", got, logs())
		}
		run.interrupt()
		run.ends(shell.ExitInterrupted, time.Minute)
	})
}
