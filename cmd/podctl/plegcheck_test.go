package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pleg/plegstat"
)

// check runs `podctl pleg check` to its end.
func (w *world) check(code int, within time.Duration, flags ...string) *command {
	w.t.Helper()
	c := w.start(nil, append([]string{"pleg", "check"}, flags...)...)
	c.ends(code, within)
	return c
}

func TestCheckHealthy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("web", "sleep", "3600")
		db := w.pod("default", "db")
		db.Start("db", "sleep", "3600")
		db.Start("backup", "sleep", "3600")
		w.sim.Inject("method=ListContainers delay=3ms")
		w.sim.Inject("method=ContainerStatus container=backup delay=200ms")
		w.sim.Inject("method=PodSandboxStatus pod=web delay=20ms")
		c := w.check(shell.ExitOK, 2*time.Second)
		c.lines(
			"healthy",
			"relist max 3ms over 10 samples",
			"2 pods, 3 containers · podctl-sim 2.4.2 at sim:",
			"slowest: default/db 200ms, default/web 20ms",
			"hints: yes, to every subscriber",
		)
		c.silent()

		c = w.check(shell.ExitOK, 2*time.Second, "--brief", "--samples=3")
		c.linesMatch("healthy: relist max 3ms over [34] samples · 2 pods, 3 containers")
		c.silent()
	})
}

// TestCheckNamesTheCallThatHangs, with its pod, and ends when its time is up.
func TestCheckNamesTheCallThatHangs(t *testing.T) {
	for method, want := range map[string]string{
		"PodSandboxStatus": "PodSandboxStatus of default/db (sandbox SANDBOX)",
		"ContainerStatus":  "ContainerStatus of default/db/db (container CONTAINER)",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.pod("default", "web").Start("web", "sleep", "3600")
			db := w.pod("default", "db")
			id := db.Start("db", "sleep", "3600")
			want := strings.NewReplacer("SANDBOX", db.Sandbox[:13], "CONTAINER", id[:13]).Replace(want)
			defer w.sim.Inject("method=" + method + " pod=db hang")()
			c := w.check(shell.ExitFailed, 11*time.Second)
			c.linesMatch(
				"unhealthy: no answer for 10s",
				"waits for "+regexp.QuoteMeta(want)+`, in flight for 10s \(since 00:00:00.000\)`,
				"answered: 10 of 10 relists, statuses of 1 of 2 pods",
				"relist max 0ms over 10. samples",
				"2 pods, 2 containers · podctl-sim 2.4.2 at sim:",
				"slowest: default/web 0ms",
				"hints: yes, to every subscriber",
			)
			c.silent()
			c = w.check(shell.ExitFailed, 3*time.Second, "--timeout=2s", "--brief")
			c.lines("unhealthy: no answer for 2s: " + want)
			c.silent()
		})
	}
}

func TestCheckNamesAListThatHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sim.Inject("method=ListContainers nth=4- hang")()
		c := w.check(shell.ExitFailed, 6*time.Second, "--timeout=5s")
		c.lines(
			"unhealthy: no answer for 5s",
			"waits for ListContainers, in flight for 5s (since 00:00:00.300)",
			"answered: 3 of 10 relists, statuses of 0 of 0 pods",
			"relist max 0ms over 3 samples",
			"0 pods, 0 containers · podctl-sim 2.4.2 at sim:",
			"hints: yes, to every subscriber",
		)
		c.silent()
		c = w.check(shell.ExitFailed, 6*time.Second, "--timeout=5m", "--threshold=5s", "--brief")
		c.lines("unhealthy: no answer for 5s: ListContainers")
	})
}

// A server that accepts connections and does not answer is unhealthy.
func TestCheckOfARuntimeThatDoesNotAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sim.Inject("method=* hang")()
		c := w.check(shell.ExitFailed, 6*time.Second, "--timeout=5s")
		c.lines("unhealthy: connect to sim:: no answer within 5s")
		c.silent()
	})
}

func TestCheckOfARuntimeThatGoesAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.start(nil, "pleg", "check", "--samples=100")
		time.Sleep(time.Second)
		w.sim.Crash()
		c.ends(shell.ExitUnreachable, 2*time.Second)
		if got, want := c.errw.String(), "podctl: pleg check: list sandboxes: no process listens at sim:\n"; !strings.HasPrefix(got, want) {
			t.Errorf("stderr %q, want %q", got, want)
		}
		c = w.check(shell.ExitUnreachable, 2*time.Second, "--brief")
		c.lines("unreachable: connect to sim:: no process listens at sim:")
		c.silent()
		c = w.check(shell.ExitUnreachable, 2*time.Second, "-o", "json")
		c.lines(`{"status":"unreachable","reason":"connect to sim:: no process listens at sim:","samples":0,"pods":0,"containers":0,"slowest":[],"waits":[],"errors":[]}`)
		c.silent()
	})
}

func TestCheckSaysWhyThereAreNoHints(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.SetVersion("containerd", "1.7.35")
		c := w.check(shell.ExitOK, 2*time.Second)
		c.printed("  hints: no: containerd 1.7.35 delivers each event to one subscriber only: podctl would take events from the kubelet\n")
		w.neverSubscribed()
		w.sim.SetVersion("cri-o", "1.34.0")
		w.sim.SetEvents(sim.EventsEOF)
		c = w.check(shell.ExitOK, 2*time.Second)
		c.printed("  hints: no: watch container events: the runtime ended the stream at once: its events are disabled\n")
	})
}

func TestCheckUnhealthyStatusAndThreshold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("web", "sleep", "3600")
		end := w.sim.Inject(`method=ContainerStatus error=Unknown message="bad task"`)
		c := w.check(shell.ExitFailed, 2*time.Second)
		c.printed("unhealthy: status of default/web: read status of container ", ": bad task\n  status of default/web: ")
		end()

		defer w.sim.Inject("method=ContainerStatus delay=300ms")()
		w.check(shell.ExitOK, 2*time.Second)
		c = w.check(shell.ExitFailed, 2*time.Second, "--threshold=200ms")
		c.printed("unhealthy: ")
	})
}

func TestCheckInterrupted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sim.Inject("method=ListPodSandbox hang")()
		c := w.start(nil, "pleg", "check")
		time.Sleep(time.Second)
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Second)
		c.lines()
		c.silent()
	})
}

func TestCheckJSON(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.pod("default", "db")
		id := db.Start("db", "sleep", "3600")
		defer w.sim.Inject("method=ContainerStatus container=db hang")()
		began := time.Now()
		c := w.check(shell.ExitFailed, 2*time.Second, "-o", "json", "--timeout=1s")
		var r plegstat.CheckReport
		if err := json.Unmarshal([]byte(c.out.String()), &r); err != nil {
			t.Fatal(err)
		}
		if r.Status != plegstat.Unhealthy || len(r.Waits) != 1 || r.Pods != 1 || r.Containers != 1 {
			t.Fatalf("%+v", r)
		}
		want := plegstat.CheckWait{Call: "ContainerStatus", Namespace: "default", Name: "db", UID: "uid-db", Container: "db", ID: id, Since: began.UTC(), Seconds: 1}
		if got := r.Waits[0]; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
