package main

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// What podctl processes report is printed, with a warning, and the exit code
// says that the runtime did not answer.
func TestPodsOfPodctlAreListedWhileRuntimeHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair)
		stop := w.start(nil, "stop", "kube/deaf")
		time.Sleep(2 * time.Second)
		release := w.sim.Inject("method=* hang")
		out := w.ran(shell.ExitUnreachable, 11*time.Second, "pods")
		expect(t, out, "warning: the runtime does not answer", "default/web", "kube/deaf", "podctl: pods: connect to sim:: ")
		out = w.ran(shell.ExitUnreachable, 11*time.Second, "terminating")
		expect(t, out, "warning: the runtime does not answer", "kube/deaf", "podctl: terminating: connect to sim:: ")
		release()
		stop.ends(0, 2*time.Minute)
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Minute)
	})
}

func TestFailureDuringAnInterruptIsReported(t *testing.T) {
	failure := errors.New("no space left on device")
	for _, c := range []struct{ err, want error }{
		{nil, shell.ErrInterrupted}, {context.Canceled, shell.ErrInterrupted}, {failure, failure},
	} {
		interrupts := make(chan os.Signal, 1)
		e := &shell.Env{Interrupts: interrupts}
		err := e.UntilInterrupted(t.Context(), func(ctx context.Context) error {
			interrupts <- os.Interrupt
			<-ctx.Done()
			return c.err
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.err, err, c.want)
		}
	}
}

const hooked = `
apiVersion: v1
kind: Pod
metadata: {name: hooked}
spec:
  terminationGracePeriodSeconds: 60
  containers:
  - name: web
    image: busybox
    command: [sleep, "3600"]
    lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}
`

// SIGTERM has not been sent while the preStop hook runs: the process does not
// ignore it.
func TestTerminatingNamesARunningPreStopHook(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.sim.Inject("method=ExecSync hang")
		c := w.run(hooked)
		stop := w.start(nil, "stop", "hooked")
		time.Sleep(4 * time.Second)
		out := w.ran(0, time.Second, "terminating")
		expect(t, out, " hook ", "the preStop hook of web has been running for 4s; SIGTERM follows it", "hint: podctl stop --grace-period 1 default/hooked")
		release()
		stop.ends(0, 2*time.Minute)
		c.ends(shell.ExitFailed, 2*time.Minute) // its only pod was stopped
	})
}
