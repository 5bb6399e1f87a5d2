package main

import (
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// In a pipe, a watch prints the row of a pod when the pod changes, and no age.
func TestWatchInPipePrintsChangedRows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := w.foreign("test", "bare")
		id := f.create("main", "sleep 20; exit 3")
		watch := w.start(nil, "pods", "-w")
		time.Sleep(time.Minute)
		f.start(id)
		time.Sleep(10 * time.Second)
		w.foreign("test", "other")
		time.Sleep(20 * time.Second)
		watch.interrupt()
		watch.ends(shell.ExitOK, time.Second)
		watch.silent()
		var got []string
		for line := range strings.Lines(watch.out.String()) {
			fields := strings.Fields(line)
			got = append(got, strings.Join(fields[:2], " "))
		}
		if text := strings.Join(got, ", "); text != "POD STATUS, test/bare ContainerCreating, test/bare Running, test/other ContainerCreating, test/bare Error" {
			t.Errorf("%s\n%s", text, watch.out.String())
		}
	})
}

// What can never be met is known at once.
func TestWaitForEndedPodFailsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		other := strings.Replace(strings.ReplaceAll(jobManifest, "job", "other"), "spec:", "spec:\n  os: {name: windows}", 1)
		run := w.run(jobManifest + "---" + other + "---" + keptManifest)
		for name, want := range map[string]string{"job": "the pod has ended: Succeeded", "other": "the pod was rejected: "} {
			c := w.start(nil, "wait", name, "--for=condition=Ready", "--timeout", "10m")
			c.ends(shell.ExitFailed, 2*time.Second)
			c.warned("podctl: wait: default/" + name + ": condition=Ready cannot be met: " + want)
		}
		run.interrupt()
		run.ends(shell.ExitInterrupted, time.Minute)
	})
}
