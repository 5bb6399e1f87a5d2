package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podctl/podctl/cmd/podctl/internal/pods"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
)

const startless = `
apiVersion: v1
kind: Pod
metadata: {name: fine}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: busybox, command: [sleep, "3600"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: busybox, command: [sh, -c, "echo no config; exit 3"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: image}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "registry.test/missing:1"}]
---
apiVersion: v1
kind: Pod
metadata: {name: path}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: v, hostPath: {path: /nosuch, type: Directory}}]
  containers: [{name: c, image: busybox, command: [sleep, "3600"], volumeMounts: [{name: v, mountPath: /v}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: hook}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox
    command: [sleep, "3600"]
    lifecycle: {postStart: {exec: {command: [sleep, "600"]}}}
`

// Each pod that should run and does not is listed with its step, its layer and the next
// command, and leaves the list once it runs.
func TestStartingNamesStepAndLayer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.SetImage("registry.test/missing:1", sim.ImageScript{Absent: true, PullErr: status.Error(codes.NotFound, "registry.test/missing:1: not found")})
		c := w.run(startless)
		time.Sleep(15 * time.Second)
		out := w.ran(0, 5*time.Second, "starting", "-o", "json")
		var listed []pods.StuckPod
		if err := json.Unmarshal([]byte(out), &listed); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, p := range listed {
			got[p.Metadata.Name] = strings.Join([]string{string(p.Step), string(p.Layer), string(p.Confidence), p.Evidence[0].Text, p.Next[0]}, " | ")
			if p.Since.IsZero() || p.Owner == "" || !strings.HasPrefix(p.Why, p.Evidence[0].Text) || p.Running != nil {
				t.Errorf("%+v", p)
			}
		}
		for name, want := range map[string]string{
			"crash": "restart | application | observed | c: exited 3 after 0s: its program returned 3, ",
			"image": "pull | image | observed | c: ",
			"path":  "volume | volume | observed | /nosuch does not exist | ls -ld /nosuch",
			"hook":  "hook | hook | observed | c: postStart hook exec sleep 600 has been in progress for ",
		} {
			if !strings.HasPrefix(got[name], want) {
				t.Errorf("%s: %q, want %q", name, got[name], want)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("listed, too: %v", got)
		}
		out = w.ran(0, 5*time.Second, "starting", "crash")
		expect(t, out, "POD            SINCE  STEP     CONTAINER  LAYER", "c: its last line: no config", "hint: podctl logs default/crash/c")
		if out := w.ran(1, 5*time.Second, "starting", "nosuch"); !strings.Contains(out, "pod nosuch not found") {
			t.Errorf("an unknown pod: %q", out)
		}
		// A recording has the same rows, and says nothing of files that it does not have.
		file := filepath.Join(w.dir, "tape")
		w.ran(0, 10*time.Second, "record", file)
		recorded := w.ran(0, 20*time.Second, "-r", "tape:"+file, "starting")
		expect(t, recorded, "default/crash", "c: exited 3 after 0s: its program returned 3, ", "default/hook")
		if strings.Contains(recorded, "/nosuch does not exist") {
			t.Errorf("%s", recorded)
		}
		release := w.sim.Inject("method=* hang")
		out = w.ran(shell.ExitUnreachable, 15*time.Second, "starting")
		expect(t, out, "warning: the runtime does not answer", "default/crash")
		for name, step := range map[string]string{"crash": "restart c", "image": "pull c"} { // the last known one
			if got := fields(out, "default/"+name); !strings.Contains(got, " "+step+" ") {
				t.Errorf("while the runtime is away: %q, want step %s", got, step)
			}
		}
		release()
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Minute)
	})
}

// A pod whose podctl process ended, or does not answer, before the pod was started is listed.
func TestStartingListsPodsWhosePodctlIsGoneOrSilent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.sim.Inject("method=PullImage hang")
		defer release()
		c := w.start(strings.NewReader(strings.Split(startless, "---\n")[0]), "run", "--keep", "-")
		time.Sleep(9 * time.Second)
		sockets, err := filepath.Glob(filepath.Join(w.dir, "run/*/*.sock"))
		if err != nil || len(sockets) != 1 {
			t.Fatalf("sockets: %v %v", sockets, err)
		}
		if err := os.Rename(sockets[0], sockets[0]+".aside"); err != nil {
			t.Fatal(err)
		}
		out := w.start(nil, "starting")
		out.ends(0, 20*time.Second)
		out.printed("default/fine", "has no container yet; its owner, podctl run-", "does not answer, or is not visible", "hint: podctl doctor")
		if err := os.Rename(sockets[0]+".aside", sockets[0]); err != nil {
			t.Fatal(err)
		}
		c.interrupt()
		c.ends(shell.ExitInterrupted, 10*time.Second)
		expect(t, w.ran(0, 20*time.Second, "starting"), "default/fine", "c: has no container yet; its owner, a podctl process, has exited", "hint: podctl orphans default/fine")
	})
}
