package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// TestRestartIsDoneByThePodctlOfThePod restarts containers of podctl's own pods: in their
// sandbox, with the grace period, and with one line for each.
func TestRestartIsDoneByThePodctlOfThePod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair + `---
apiVersion: v1
kind: Pod
metadata: {name: job}
spec:
  restartPolicy: Never
  containers:
  - {name: once, image: busybox, command: [sleep, "3600"]}
`)
		owner := w.podctls()[0].Instance()
		line := regexp.MustCompile(`^default/web/web restarted by podctl "` + owner + `": attempt 0 \([0-9a-f]+, exit code 0\) → attempt 1 \([0-9a-f]+\), after [0-9.]+m?s\n$`)
		if out := w.ran(0, 3*time.Second, "restart", "web/web"); !line.MatchString(out) {
			t.Errorf("printed %q", out)
		}
		begin := time.Now()
		expect(t, w.ran(0, 25*time.Second, "restart", "deaf", "default/web"), "kube/deaf/deaf restarted by ", ": attempt 0 (", ", exit code 137) → attempt 1 (", "default/web/web restarted by ")
		if took := time.Since(begin); took < 20*time.Second {
			t.Errorf("restarted after %s, its grace period is 20s", took)
		}
		expect(t, w.ran(0, time.Second, "restart", "deaf", "--wait=false"), `kube/deaf/deaf: attempt 1 (`, `) is being restarted by podctl "`+owner+`"`)
		if got := fields(w.ran(0, time.Second, "pods"), "default/web"); !strings.HasPrefix(got, "default/web Running syncing "+owner+" 1/1 2") {
			t.Errorf("restarted twice: %q", got)
		}
		if n := len(w.sim.Calls("RunPodSandbox")); n != 3 {
			t.Errorf("%d sandboxes for 3 pods", n)
		}
		expect(t, w.ran(1, time.Second, "restart", "job", "web", "--timeout=1s"), "default/web/web restarted by ",
			"podctl: restart: restart default/job/once: restartPolicy Never does not start it again\n  hint: podctl stop default/job and podctl start default/job run the whole pod again\n")
		expect(t, w.ran(1, time.Second, "restart", "job/none"), `pod default/job has no container "none"`)
		w.ran(0, 3*time.Second, "stop", "web")
		expect(t, w.ran(1, time.Second, "restart", "web"), "podctl: restart: pod default/web is not running\n  hint: podctl describe default/web\n")
		c.interrupt()
		c.ends(shell.ExitInterrupted, 40*time.Second)
		w.holds(0)
	})
}

// A container that no owner starts again, or may not, is left alone.
func TestRestartIsRefusedWithoutAnOwner(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.plant("bare", "sleep", "3600")
		w.plantOfKubelet("web", "sleep", "3600")
		expect(t, w.ran(1, time.Second, "restart", "bare"), "podctl: restart: restart default/bare: no live owner starts it again\n  hint: podctl orphans lists pods without an owner\n")
		expect(t, w.ran(1, time.Second, "restart", "web"), "restart default/web: created by a kubelet, and none uses this runtime now", "hint: --force restarts it without its preStop hook")
		expect(t, w.ran(1, time.Second, "--read-only", "restart", "bare"), "--read-only")
		if n := len(w.sim.Calls("StopContainer")); n > 0 {
			t.Errorf("%d containers were stopped", n)
		}
		expect(t, w.ran(1, 40*time.Second, "restart", "web", "--force", "--timeout=2s"), "attempt 0 was not followed by another within 2s: its owner does not say why")
	})
}
