package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/pods"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/why"
)

// pair is a pod that terminates on SIGTERM, and one that ignores it.
const pair = `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - {name: web, image: busybox, command: [sh, -c, "trap 'exit 0' TERM; sleep 3600 & wait"]}
---
apiVersion: v1
kind: Pod
metadata: {name: deaf, namespace: kube}
spec:
  terminationGracePeriodSeconds: 20
  containers:
  - {name: deaf, image: busybox, command: [sleep, "3600"]}
`

// ran runs a command to its end, and returns what it printed.
func (w *world) ran(code int, within time.Duration, args ...string) string {
	w.t.Helper()
	c := w.start(nil, args...)
	c.ends(code, within)
	if code == 0 {
		c.silent()
	}
	return c.out.String() + c.errw.String()
}

func expect(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

// fields are the words of the line that begins with a name.
func fields(text, name string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == name {
			return strings.Join(words, " ")
		}
	}
	return ""
}

// The clients of the podctls that live.
func (w *world) podctls() []*control.Client {
	w.t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(w.dir, "run", "*"))
	if len(dirs) == 0 {
		return nil
	}
	clients, err := control.Find(dirs[0], w.net.dial)
	if err != nil {
		w.t.Fatal(err)
	}
	return clients
}

func TestPodsAreStoppedAndStartedThroughTheSocketOfTheirPodctl(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair)
		owner := w.podctls()[0].Instance()
		out := w.ran(0, time.Second, "pods")
		if got, want := fields(out, "default/web"), "default/web Running syncing "+owner+" 1/1 0 10.88.0."; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q …", got, want)
		}
		expect(t, out, "kube/deaf")
		if out := w.ran(0, time.Second, "pods", "-l", "app=web", "-o", "name"); out != "default/web\n" {
			t.Errorf("selected %q", out)
		}
		if out := w.ran(0, time.Second, "pods", "-o", `jsonpath={[*].metadata.name}`, "-n", "kube"); out != "deaf" {
			t.Errorf("jsonpath printed %q", out)
		}

		if out, want := w.ran(0, 3*time.Second, "stop", "web"), "default/web stopped by "+owner+"\n"; out != want {
			t.Errorf("stop printed %q, want %q", out, want)
		}
		time.Sleep(time.Second) // it is down; now it is cleaned up
		if got := fields(w.ran(0, time.Second, "pods"), "default/web"); !strings.HasPrefix(got, "default/web Stopped finished "+owner+" 0/1") {
			t.Errorf("a stopped pod: %q", got)
		}
		if out, want := w.ran(0, time.Second, "stop", "web"), "default/web is already stopped; "+owner+" keeps it stopped\n"; out != want {
			t.Errorf("a second stop printed %q, want %q", out, want)
		}
		if out, want := w.ran(0, time.Second, "start", "web"), "default/web started by "+owner+"\n"; out != want {
			t.Errorf("start printed %q, want %q", out, want)
		}
		time.Sleep(5 * time.Second)
		if got := fields(w.ran(0, time.Second, "pods"), "default/web"); !strings.HasPrefix(got, "default/web Running syncing") {
			t.Errorf("a pod that was started again: %q", got)
		}
		expect(t, w.ran(1, time.Second, "start", "web"), "podctl: start: pod default/web is not stopped\n")
		expect(t, w.ran(1, time.Second, "stop", "deaf"), "pod default/deaf not found", "there is kube/deaf")
		expect(t, w.ran(1, time.Second, "start", "kube/absent"), "no podctl process manages a pod kube/absent")
		if out, want := w.ran(0, time.Second, "condition", "web", "example.com/on=True", "--reason", "On"), "default/web condition example.com/on=True set by "+owner+"\n"; out != want {
			t.Errorf("condition printed %q, want %q", out, want)
		}
		w.ran(0, 2*time.Second, "wait", "web", "--for=condition=example.com/on")
		if out, want := w.ran(0, time.Second, "condition", "web", "example.com/on-"), "default/web condition example.com/on removed by "+owner+"\n"; out != want {
			t.Errorf("condition printed %q, want %q", out, want)
		}
		expect(t, w.ran(1, time.Second, "condition", "web", "Ready=True"), "condition Ready: podctl sets it itself")
		expect(t, w.ran(1, time.Second, "condition", "kube/absent", "a=True"), "no podctl process manages a pod kube/absent")
		expect(t, w.ran(2, time.Second, "condition", "web", "Ready"), `"Ready" is not TYPE=STATUS or TYPE-`)
		expect(t, w.ran(2, time.Second, "condition", "web"), "a pod and a condition are needed")

		c.interrupt()
		c.ends(shell.ExitInterrupted, 30*time.Second)
		w.holds(0)
	})
}

func TestStopSaysOnATerminalWhatIsWaitedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair)
		w.tty = true
		stop := w.start(nil, "stop", "kube/deaf")
		time.Sleep(3 * time.Second)
		stop.goesOn()
		if said, want := stop.errw.String(), "terminating 1 pod · podctl terminating says what is waited for · Ctrl-C stops waiting\n"; said != want {
			t.Errorf("said %q, want %q", said, want)
		}
		stop.ends(0, 30*time.Second)
		w.ran(0, 2*time.Second, "stop", "web")  // too soon to say anything
		c.ends(shell.ExitFailed, 5*time.Second) // none of its pods is to run
	})
}

func TestTerminatingShowsGraceAndOverrun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.sim.Inject("method=StopContainer hang")
		c := w.run(pair)
		nothing := w.start(nil, "terminating")
		nothing.ends(0, time.Second)
		expect(t, nothing.errw.String(), "no terminating pods")
		stop := w.start(nil, "stop", "kube/deaf")
		time.Sleep(5 * time.Second)
		if got := fields(w.ran(0, time.Second, "terminating"), "kube/deaf"); got != "kube/deaf 5s 15s deaf - -" {
			t.Errorf("within its grace: %q", got)
		}
		expect(t, fields(w.ran(0, time.Second, "pods", "--terminating"), "kube/deaf"), "Terminating terminating")
		time.Sleep(40 * time.Second)
		out := w.ran(0, time.Second, "terminating")
		if got := fields(out, "kube/deaf"); got != "kube/deaf 45s -25s deaf runtime -" {
			t.Errorf("past its grace: %q", got)
		}
		expect(t, out, "StopContainer of deaf has been in flight for 45s", "hint: podctl pleg check", "podctl rm --force kube/deaf")

		var data []pods.StuckPod
		if err := json.Unmarshal([]byte(w.ran(0, time.Second, "terminating", "-o", "json")), &data); err != nil || len(data) != 1 {
			t.Fatalf("-o json: %v %v", data, err)
		}
		if d := data[0]; d.Layer != why.LayerRuntime || d.GraceLeftSeconds == nil || *d.GraceLeftSeconds >= -20 || len(d.Running) != 1 || len(d.Evidence) != 1 || d.Evidence[0].Text != d.Why {
			t.Errorf("-o json: %+v", d)
		}
		release()
		stop.ends(0, 40*time.Second) // the call is made again
		c.interrupt()
		c.ends(shell.ExitInterrupted, 30*time.Second)
		w.holds(0)
	})
}

func TestTerminatingWatchesUntilInterrupted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair)
		watch := w.start(nil, "terminating", "--watch")
		time.Sleep(time.Second)
		w.ran(0, 30*time.Second, "stop", "kube/deaf")
		time.Sleep(2 * time.Second)
		watch.interrupt()
		watch.ends(0, time.Second)
		watch.printed("POD ", "\nkube/deaf ")
		if said := watch.errw.String(); said != "no terminating pods\nno terminating pods\n" {
			t.Errorf("stderr: %q", said)
		}
		c.interrupt()
		c.ends(shell.ExitInterrupted, 30*time.Second)
	})
}

// A podctl that was killed leaves unmanaged pods.
func TestPodsOfADeadPodctlAreOrphansAndCanBeEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair, "--keep")
		owner := w.podctls()[0].Instance()
		c.interrupt()
		c.ends(shell.ExitInterrupted, 5*time.Second)
		if left := w.podctls(); len(left) != 0 {
			t.Errorf("podctls are found that have ended: %v", left)
		}
		out := w.ran(0, time.Second, "pods", "--orphans")
		if got, want := fields(out, "default/web"), "default/web Running - "+owner+" (exited) 1/1 0 10.88.0."; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if out := w.ran(0, time.Second, "pods", "-o", `go-template={{range .}}{{.metadata.name}} {{index .ips 0}} {{.abandoned}};{{end}}`, "web"); !strings.HasPrefix(out, "web 10.88.0.") || !strings.HasSuffix(out, "true;") {
			t.Errorf("go-template printed %q", out)
		}
		expect(t, w.ran(1, time.Second, "start", "web"), "no podctl process manages a pod default/web")

		expect(t, w.ran(0, 3*time.Second, "stop", "web"), "default/web stopped; no podctl process manages it: podctl rm default/web removes it")
		if got := fields(w.ran(0, time.Second, "pods"), "default/web"); !strings.HasPrefix(got, "default/web Completed") {
			t.Errorf("got %q", got)
		}
		if out := w.ran(0, 25*time.Second, "rm", "web", "kube/deaf"); !strings.Contains(out, "default/web removed\n") || !strings.Contains(out, "kube/deaf removed\n") {
			t.Errorf("rm printed %q", out)
		}
		list, err := w.sim.ListPodSandbox(t.Context(), nil)
		if err != nil || len(list.Items) != 0 {
			t.Errorf("the runtime holds %v, %v", list, err)
		}
	})
}

func TestRmForceGoesOnWhereThePodctlGetsNowhere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair)
		release := w.sim.Inject("method=StopContainer container=deaf nth=1-2 hang") // those of podctl run and of rm: then it is gone
		defer release()
		expect(t, w.ran(0, 3*time.Minute, "rm", "--force", "kube/deaf"), "kube/deaf removed; run-")
		for _, call := range w.podctls() {
			workers, err := call.Workers(context.Background())
			if err != nil || len(workers) != 2 {
				t.Errorf("workers: %v %v", workers, err)
			}
		}
		c.interrupt()
		c.ends(shell.ExitInterrupted, 3*time.Minute)
	})
}

func TestEventsAreStreamedToEveryReader(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair)
		client := w.podctls()[0]
		var reasons []string
		ended := make(chan error, 1)
		opened := make(chan struct{})
		go func() {
			ended <- client.Events(t.Context(), func() { close(opened) }, func(ev control.Event) {
				if ev.Name == "web" {
					reasons = append(reasons, ev.Reason)
				}
			})
		}()
		<-opened
		c.interrupt()
		c.ends(shell.ExitInterrupted, 30*time.Second)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		expect(t, strings.Join(reasons, " "), "Terminating", "Killing", "Exited", "Stopped", "Removed")
	})
}

func TestMetricsAndHealthOfARun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair)
		client := w.podctls()[0]
		metrics, err := client.Get(t.Context(), "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, string(metrics), `kubelet_desired_pods{static=""} 2`, `kubelet_working_pods{config="desired",lifecycle="sync",static=""} 2`,
			"kubelet_running_pods 2", `kubelet_running_containers{container_state="running"} 2`, "kubelet_pod_start_duration_seconds_count 2",
			`kubelet_runtime_operations_total{operation_type="run_podsandbox"} 2`, `kubelet_pod_worker_duration_seconds_count{operation_type="create"} 2`)
		if health, err := client.Get(t.Context(), "/healthz?verbose"); err != nil || string(health) != "[+]ping ok\n[+]syncloop ok\nhealthz check passed\n" {
			t.Errorf("%q %v", health, err)
		}
		pods, err := client.Pods(t.Context())
		if err != nil || len(pods.Items) != 2 || pods.Kind != "PodList" || pods.Items[0].Status.Phase != "Running" || pods.Items[0].Status.PodIP == "" {
			t.Errorf("%v %v", pods, err)
		}

		release := w.sim.Inject("method=ListPodSandbox hang")
		time.Sleep(4 * time.Minute)
		if health, err := client.Get(t.Context(), "/readyz"); err == nil {
			t.Errorf("ready while no relist is answered: %q", health)
		}
		if health, err := client.Get(t.Context(), "/healthz"); err != nil {
			t.Errorf("a restart does not repair the runtime, but: %q %v", health, err)
		}
		release()
		time.Sleep(time.Minute)
		if health, err := client.Get(t.Context(), "/readyz"); err != nil {
			t.Errorf("%q %v", health, err)
		}
		c.interrupt()
		c.ends(shell.ExitInterrupted, 30*time.Second)
	})
}

// Its podctl may be at the same removal: the runtime refuses one of the two.
func TestRmTriesAgainWhatItsPodctlRemovesToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.run(pair)
		w.sim.Inject(`method=RemoveContainer pod=default/web nth=1 error=Unknown message="container is already in removing state"`)
		expect(t, w.ran(0, 10*time.Second, "rm", "web"), "default/web removed; ", " still has its manifest, and keeps it stopped: podctl start default/web runs it again\n")
		if got := fields(w.ran(0, time.Second, "pods"), "default/web"); !strings.HasPrefix(got, "default/web Removed") || strings.Contains(got, "10.88.") {
			t.Errorf("a pod that was removed: %q", got)
		}
		c.interrupt()
		c.ends(shell.ExitInterrupted, 30*time.Second)
		w.holds(0)
	})
}

// What went wrong before the stop does not hold it up.
func TestTerminatingShowsErrorsOfTheEndOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject(`method=StartContainer container=other error=Unknown message="no luck"`)
		release := w.sim.Inject("method=StopContainer hang")
		c := w.run(strings.Replace(pair, "  - {name: deaf,", "  - {name: other, image: busybox}\n  - {name: deaf,", 1))
		expect(t, w.ran(0, time.Second, "pods", "-o", "json", "-n", "kube"), "no luck")
		stop := w.start(nil, "stop", "kube/deaf")
		time.Sleep(5 * time.Second)
		if got := fields(w.ran(0, time.Second, "terminating"), "kube/deaf"); got != "kube/deaf 5s 15s deaf - -" {
			t.Errorf("terminating: %q", got)
		}
		release()
		stop.ends(0, time.Minute)
		c.interrupt()
		c.ends(shell.ExitInterrupted, 30*time.Second)
		w.holds(0)
	})
}
