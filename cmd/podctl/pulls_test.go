package main

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/sim"
)

const slowImage = "r.io:5000/team/slow:1"

// slow makes the pull of an image of 40 MiB take 18 seconds.
func (w *world) slow() {
	w.sim.SetImage(slowImage, sim.ImageScript{Absent: true, PullTakes: 18 * time.Second, Size: 40 << 20})
}

const slowPod = `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: "` + slowImage + `", command: [sleep, "3600"]}]}}`

func TestImagesPullingListsPullsInFlight(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slow()
		none := w.start(nil, "images", "--pulling")
		none.ends(0, time.Second)
		if text := none.errw.String(); text != "no pulls in flight\n" || none.out.String() != "" {
			t.Errorf("without a pull: %q %q", none.out.String(), text)
		}

		r := w.run(slowPod)
		list := w.start(nil, "images", "--pulling")
		list.ends(0, time.Second)
		list.linesMatch(
			`IMAGE DONE TOTAL RATE LAYERS SINCE WANTED BY`,
			`r.io/team/slow@sha256:[0-9a-f]{13} 27MiB 40MiB 1.7MiB/s 1/2 10s default/web`,
		)

		page := w.start(nil, "describe", "web")
		page.ends(0, time.Second)
		page.printed("Why             app: pulling " + slowImage + ": 27Mi of 40Mi, 1.7Mi/s, for 10s")

		watch := w.start(nil, "images", "--pulling", "--watch", "-o", "jsonpath={.bytes} {.bytesPerSecond}{\"\\n\"}")
		time.Sleep(5 * time.Second)
		watch.interrupt()
		watch.ends(0, time.Second)
		lines := strings.Split(strings.TrimSpace(watch.out.String()), "\n")
		if len(lines) < 5 || lines[0] == lines[4] {
			t.Errorf("watch:\n%s", watch.out.String())
		}
		r.interrupt()
		r.ends(130, time.Minute)
	})
}

func TestImagesPullingWhereTheRuntimeDoesNotReport(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.unreportedPulls()
		c := w.start(nil, "images", "--pulling")
		c.ends(1, time.Second)
		if text := c.errw.String(); !strings.Contains(text, "podctl-sim does not report which images it pulls") {
			t.Error(text)
		}
	})
}

// unreportedPulls makes the runtime one that serves the CRI alone.
func (w *world) unreportedPulls() {
	w.sim.InjectRules(rules.Rule{Method: "ListStatuses", Error: codes.Unimplemented, Message: "unknown service"})
}

// Without a terminal, a pull prints a line every five seconds on stderr.
func TestPullPrintsProgress(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slow()
		c := w.start(nil, "pull", "--registry-config", "none", slowImage, "busybox:1")
		c.ends(0, time.Minute)
		c.linesMatch(`IMAGE ID SIZE TOOK`, `r.io:5000/team/slow:1 [0-9a-f]{13} 40MiB 18s`, `busybox:1 [0-9a-f]{13} 4.0MiB 0ms`)
		want := []string{
			"r.io:5000/team/slow:1: 17MiB of 40MiB, 3.3MiB/s, for 5s",
			"r.io:5000/team/slow:1: 27MiB of 40MiB, 2.6MiB/s, for 10s",
			"r.io:5000/team/slow:1: 35MiB of 40MiB, 2.0MiB/s, for 15s",
		}
		if got := strings.TrimSpace(c.errw.String()); got != strings.Join(want, "\n") {
			t.Errorf("progress:\n%s", got)
		}
	})
}

func TestPullWithoutProgress(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slow()
		w.unreportedPulls()
		c := w.start(nil, "pull", "--registry-config", "none", slowImage)
		c.ends(0, time.Minute)
		if first, _, _ := strings.Cut(c.errw.String(), "\n"); first != "r.io:5000/team/slow:1: progress not known, for 5s" {
			t.Error(c.errw.String())
		}
	})
}
