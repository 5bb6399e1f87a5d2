package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/pods"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/stop"
)

// plant creates a pod of one container by CRI calls alone, as crictl does.
func (w *world) plant(name string, command ...string) (sandbox string) {
	w.t.Helper()
	return w.plantWith(name, map[string]string{}, command...)
}

// plantOfKubelet is plant with the labels of a kubelet.
func (w *world) plantOfKubelet(name string, command ...string) {
	w.t.Helper()
	labels := map[string]string{"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": "uid-" + name}
	w.plantWith(name, labels, command...)
}

func (w *world) plantWith(name string, labels map[string]string, command ...string) (sandbox string) {
	w.t.Helper()
	// Each container has processes of its own, of which the first is deaf to signals
	// that it does not handle.
	pids := &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER}
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: "uid-" + name}, Labels: maps.Clone(labels),
		Linux: &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{NamespaceOptions: pids}},
	}
	s, err := w.sim.RunPodSandbox(w.t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(labels) > 0 {
		labels["io.kubernetes.container.name"] = "c"
	}
	image := &runtimeapi.ImageSpec{Image: "busybox"}
	if _, err := w.sim.PullImage(w.t.Context(), &runtimeapi.PullImageRequest{Image: image}); err != nil {
		w.t.Fatal(err)
	}
	c, err := w.sim.CreateContainer(w.t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId: s.PodSandboxId, SandboxConfig: config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "c"}, Image: image, Command: command, Labels: labels,
			Linux: &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{NamespaceOptions: pids}},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.sim.StartContainer(w.t.Context(), &runtimeapi.StartContainerRequest{ContainerId: c.ContainerId}); err != nil {
		w.t.Fatal(err)
	}
	return s.PodSandboxId
}

// write makes a file of the world.
func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// endings are the calls that ended something, since they were cleared.
func (w *world) endings() []string {
	var all []string
	for _, c := range w.sim.Calls("StopContainer", "StopPodSandbox", "RemoveContainer", "RemovePodSandbox") {
		all = append(all, c.String())
	}
	return all
}

const keptManifest = `
apiVersion: v1
kind: Pod
metadata: {name: kept, labels: {app: kept}}
spec:
  containers:
  - {name: kept, image: busybox, command: [sh, -c, "trap 'exit 0' TERM; sleep 3600 & wait"]}
`

// orphanage is a world with one orphan of each kind beside the pods of a living
// run.
func (w *world) orphanage() (live *command) {
	w.t.Helper()
	c := w.run(keptManifest, "--keep")
	c.interrupt()
	c.ends(shell.ExitInterrupted, 5*time.Second)
	w.plant("bare", "sleep", "3600")
	stopped := w.plant("stopped", "sleep", "3600")
	if _, err := w.sim.StopPodSandbox(w.t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: stopped}); err != nil {
		w.t.Fatal(err)
	}
	w.write("root/pods/uid-dir/etc-hosts", "")
	return w.run(pair)
}

func TestOrphansAreListedWithTheirSources(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		live := w.orphanage()
		out := w.ran(0, time.Second, "orphans")
		run := w.podctls()[0].Instance()
		for name, want := range map[string]string{
			"default/bare":    "default/bare runtime-only 10s 1 running other no source desires it",
			"default/kept":    "default/kept abandoned 20s 1 running run-",
			"default/stopped": "default/stopped not-ready 9s 1 exited other no source desires it, and no container of it runs",
			"uid-dir":         "uid-dir directory ",
			"POD":             "POD CLASS AGE CONTAINERS OWNER WHY",
			"asked:":          "asked: " + run + " (2 pods) · no kubelet uses this runtime",
			"hint:":           "hint: podctl orphans --kill terminates these 2, with --rm it removes these 4",
			"default/web":     "", "kube/deaf": "",
		} {
			if got := fields(out, name); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		if lines := strings.Count(out, "\n"); lines != 7 {
			t.Errorf("%d lines:\n%s", lines, out)
		}

		// What a manifest names belongs here; of podctl's pods it has to be that very
		// manifest.
		out = w.ran(0, time.Second, "orphans", "--desired", w.write("kept.yaml", keptManifest), "--desired", w.write("bare.yaml", strings.ReplaceAll(keptManifest, "kept", "bare")))
		if fields(out, "default/kept") != "" || fields(out, "default/bare") != "" {
			t.Errorf("desired pods are orphans:\n%s", out)
		}
		expect(t, out, "kept.yaml (1 pod)", "bare.yaml (1 pod)")
		out = w.ran(0, time.Second, "orphans", "--desired", w.write("kept.yaml", strings.Replace(keptManifest, "3600", "1800", 1)), "kept")
		expect(t, fields(out, "default/kept"), "name-reserved", "kept.yaml desires another pod of its name")
		out = w.ran(0, time.Second, "orphans", "--desired", w.write("broken.yaml", "kind: ["), "-l", "app=kept")
		expect(t, out, "default/kept", "not read: ", "broken.yaml", "would refuse")

		if out := w.ran(1, time.Second, "orphans", "--exit-code", "-o", "name"); out != "default/bare\ndefault/kept\ndefault/stopped\nuid-dir\n" {
			t.Errorf("-o name: %q", out)
		}
		w.ran(0, time.Second, "orphans", "--exit-code", "-n", "nowhere")
		var data []pods.OrphanData
		if err := json.Unmarshal([]byte(w.ran(0, time.Second, "orphans", "-o", "json", "default/*", "uid-dir")), &data); err != nil || len(data) != 4 {
			t.Fatalf("-o json: %v %v", data, err)
		}
		if d := data[1]; d.Class != "abandoned" || d.Running != 1 || !strings.HasPrefix(d.Owner, "run-") || d.Sandbox == "" || d.Metadata.Name != "kept" {
			t.Errorf("-o json: %+v", d)
		}
		if out := w.ran(0, time.Second, "orphans", "-o", "jsonpath={[*].class}"); out != "runtime-only abandoned not-ready directory" {
			t.Errorf("-o jsonpath: %q", out)
		}
		live.interrupt()
		live.ends(shell.ExitInterrupted, 30*time.Second)
	})
}

func TestKillTerminatesOrphansOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		live := w.orphanage()
		w.sim.ClearCalls()
		out := w.ran(0, time.Second, "orphans", "--kill", "--rm", "--dry-run")
		expect(t, out, "default/bare: StopContainer ", "(c), grace 1s\n", "default/bare: RemovePodSandbox ", "uid-dir: remove "+filepath.Join(w.dir, "root/pods/uid-dir"), "dry run: no call was made")
		if made := w.endings(); len(made) > 0 {
			t.Errorf("a dry run made calls: %q", made)
		}

		expect(t, w.ran(1, time.Second, "orphans", "--kill", "web"), `orphan "web" not found`, "hint: ")
		out = w.ran(0, 10*time.Second, "orphans", "--kill", "bare")
		expect(t, out, "default/bare: StopContainer ", "default/bare: StopPodSandbox ", "default/bare ended\n")
		if made := strings.Join(w.endings(), ", "); made != "StopContainer default/bare/c, StopPodSandbox default/bare" {
			t.Errorf("calls: %s", made)
		}
		expect(t, fields(w.ran(0, time.Second, "orphans"), "default/bare"), "not-ready")

		var data []pods.OrphanData
		if err := json.Unmarshal([]byte(w.ran(0, 10*time.Second, "orphans", "--kill", "-o", "json", "uid-dir", "kept")), &data); err != nil || len(data) != 2 {
			t.Fatalf("-o json: %v %v", data, err)
		}
		if d := data[0]; d.Result != "ended" || len(d.Steps) != 2 {
			t.Errorf("-o json: %+v", d)
		}
		if d := data[1]; d.Result != "kept" || d.Reason == "" || len(d.Steps) != 0 {
			t.Errorf("-o json: %+v", d)
		}
		out = w.ran(0, 10*time.Second, "orphans", "--kill", "--rm")
		expect(t, out, "default/kept removed\n", "default/bare removed\n", "default/stopped removed\n", "uid-dir removed\n")
		expect(t, w.ran(0, time.Second, "orphans"), "no orphans\n")
		if got := fields(w.ran(0, time.Second, "pods"), "kube/deaf"); !strings.HasPrefix(got, "kube/deaf Running") {
			t.Errorf("a pod of a living podctl: %q", got)
		}
		live.interrupt()
		live.ends(shell.ExitInterrupted, 30*time.Second)
		w.holds(0)
	})
}

func TestKillEscalatesAndShowsIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.plant("bare", "sleep", "3600")
		w.plant("next", "sleep", "3600")
		release := w.sim.Inject("method=StopContainer pod=default/bare hang")
		defer release()
		out := w.ran(0, 2*time.Minute, "orphans", "--kill", "--grace-period", "5")
		expect(t, out, "default/bare: StopContainer ", "(c), grace 5s\n", "(c), grace 5s failed: ", "(c), grace 0s\n", "(c), grace 0s failed: ",
			"default/bare: StopPodSandbox ", "default/bare ended\n", "default/next ended\n")
		// One that cannot be ended is an error, and does not keep the others from it.
		w.plant("third", "sleep", "3600")
		w.plant("worse", "sleep", "3600")
		w.sim.Inject("method=StopContainer pod=default/third hang")
		w.sim.Inject("method=StopPodSandbox pod=default/third hang")
		out = w.ran(1, 2*time.Minute, "orphans", "--kill", "third", "worse")
		expect(t, out, "podctl: orphans: terminate orphan default/third: ", "default/worse ended\n")
	})
}

// Pods that a kubelet created are not orphans while none was asked, unless the
// user takes the responsibility; nor are they stopped or removed.
func TestPodsOfAKubeletThatIsNotThereAreSpared(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.plantOfKubelet("web", "sleep", "3600")
		w.plant("bare", "sleep", "3600")
		w.sim.ClearCalls()
		out := w.ran(0, time.Second, "orphans")
		expect(t, out, "not judged: default/web: created by a kubelet", "hint: start the kubelet, or pass --kubelet-is-gone")
		if fields(out, "default/web") != "" {
			t.Errorf("listed as an orphan:\n%s", out)
		}
		for _, args := range [][]string{{"orphans", "--kill"}, {"orphans", "--kill", "--rm", "web"}, {"rm", "--force", "web"}, {"stop", "web"}} {
			expect(t, w.ran(1, time.Second, args...), "created by a kubelet, and none uses this runtime now", "--kubelet-is-gone")
		}
		// What they request is not known either, nor which of them it was terminating.
		file := w.write("dns.yaml", needing("dns", "1m", criticalClass))
		expect(t, w.ran(1, time.Second, "preempt", "--dry-run", "-f", file), "a kubelet created 1 of the running pods, and none uses this runtime now", "--node-pods")
		terminating := w.start(nil, "terminating")
		terminating.ends(0, 5*time.Second)
		expect(t, terminating.out.String()+terminating.errw.String(), "warning: pods of a kubelet are listed on evidence of their processes only: ", "no terminating pods")
		if made := w.endings(); len(made) > 0 {
			t.Errorf("calls: %q", made)
		}
		expect(t, w.ran(0, 10*time.Second, "orphans", "--kill", "bare"), "default/bare ended\n")
		expect(t, w.ran(0, 10*time.Second, "orphans", "--kill", "--rm", "--kubelet-is-gone"), "default/web removed\n", "default/bare removed\n")
	})
}

// The grace periods of several pods pass at the same time, and what is printed is in order.
func TestManyOrphansAreKilledAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const n = 60
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("default/deaf-%02d", i))
			w.plant(fmt.Sprintf("deaf-%02d", i), "sleep", "3600")
		}
		rounds := (n + stop.AtOnce - 1) / stop.AtOnce
		out := w.ran(0, time.Duration(rounds)*30*time.Second+5*time.Second, "orphans", "--kill", "--rm", "--grace-period", "30")
		var ended []string
		for line := range strings.Lines(out) {
			name, _, call := strings.Cut(line, ": ")
			if call && len(ended) > 0 && strings.HasPrefix(name, "default/deaf-") && slices.Contains(ended, name) {
				t.Errorf("a call after the result: %s", line)
			}
			if name, removed := strings.CutSuffix(line, " removed\n"); removed {
				ended = append(ended, name)
			}
		}
		if !slices.Equal(ended, names) {
			t.Errorf("ended in the order %v", ended)
		}
		if calls := len(w.sim.Calls("StopContainer")); calls != n {
			t.Errorf("%d calls of StopContainer", calls)
		}
		expect(t, w.ran(0, time.Second, "orphans"), "no orphans\n")
	})
}

func TestInterruptedKillEndsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i := range stop.AtOnce + 1 {
			w.plant(fmt.Sprintf("deaf-%02d", i), "sleep", "3600")
		}
		for _, format := range []string{"table", "json"} {
			w.sim.ClearCalls()
			c := w.start(nil, "orphans", "--kill", "--rm", "--grace-period", "30", "-o", format)
			time.Sleep(5 * time.Second)
			c.interrupt()
			c.ends(shell.ExitInterrupted, time.Second)
			c.silent()
			if format == "table" {
				c.printed("default/deaf-00 interrupted\n", fmt.Sprintf("interrupted: %d orphans not terminated\n", stop.AtOnce+1))
			} else if n := strings.Count(c.out.String(), `"result": "interrupted"`); n != stop.AtOnce {
				t.Errorf("%d interrupted:\n%s", n, c.out.String())
			}
			if calls := strings.Join(w.endings(), " "); strings.Count(calls, "StopContainer") != stop.AtOnce || strings.Contains(calls, "Sandbox") || strings.Contains(calls, "Remove") {
				t.Errorf("calls: %s", calls)
			}
		}
		w.ran(0, time.Minute, "orphans", "--kill", "--rm")
	})
}

// What became of a pod is printed when it is known, also by the podctl process that has it.
func TestRemovedPodIsPrintedBeforeOthersHaveEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		run := w.run(pair)
		rm := w.start(nil, "rm", "kube/deaf", "web")
		time.Sleep(5 * time.Second)
		rm.goesOn()
		rm.printed("default/web removed; ")
		rm.ends(0, time.Minute)
		rm.printed("kube/deaf removed; ")
		run.ends(shell.ExitFailed, time.Minute) // the deaf one was killed
	})
}

// A stop of many pods is bounded in the same way, and prints each when it has ended.
func TestManyPodsAreStoppedAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		args := []string{"rm"}
		for i := range 60 {
			args = append(args, fmt.Sprintf("deaf-%02d", i))
			w.plant(args[i+1], "sleep", "3600")
		}
		args = append(args, "quick")
		w.plant("quick", "true")
		c := w.start(nil, args...)
		time.Sleep(40 * time.Second)
		if n := strings.Count(c.out.String(), " removed\n"); n != stop.AtOnce && n != stop.AtOnce+1 {
			t.Errorf("%d removed after the first grace period:\n%s", n, c.out.String())
		}
		c.ends(0, 25*time.Second)
		expect(t, w.ran(0, time.Second, "orphans"), "no orphans\n")
	})
}

// Between the list and its turn a pod may become somebody's.
func TestAPodThatBecomesDesiredMeanwhileIsSpared(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i := range stop.AtOnce { // those after them have to wait
			w.plant(fmt.Sprintf("a-%02d", i), "sleep", "3600") // deaf
		}
		w.plant("b", "sleep", "3600")
		c := w.run(keptManifest, "--keep")
		c.interrupt()
		c.ends(shell.ExitInterrupted, 5*time.Second)
		w.write("desired/none.yaml", strings.ReplaceAll(keptManifest, "kept", "none"))
		kill := w.start(nil, "orphans", "--kill", "--grace-period", "30", "--desired", filepath.Join(w.dir, "desired"))
		time.Sleep(5 * time.Second)
		w.write("desired/b.yaml", strings.ReplaceAll(keptManifest, "kept", "b"))
		again := w.run(keptManifest)
		kill.ends(0, time.Minute)
		kill.printed("default/a-00 ended\n", "default/b spared: "+filepath.Join(w.dir, "desired")+" desires it now\n", "default/kept spared: ")
		if made := strings.Join(w.endings(), ", "); len(w.endings()) != 2*stop.AtOnce || strings.Contains(made, "default/b") || strings.Contains(made, "default/kept") {
			t.Errorf("calls: %s", made)
		}
		// A named source that does not answer any more stops the command.
		kill = w.start(nil, "orphans", "--kill", "--desired", filepath.Join(w.dir, "gone"))
		kill.ends(1, time.Second)
		expect(t, kill.errw.String(), "the desired pods are not known: ", "gone")
		again.interrupt()
		again.ends(shell.ExitInterrupted, 30*time.Second)
	})
}

// A podctl waits for a name that a leftover has: it is that one which is in the
// way, though the podctl has locked the name.
func TestOrphanThatReservesANameIsTerminatedForThePodThatWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.plant("kept", "sleep", "3600")
		c := w.run(pair + "---" + keptManifest)
		run := w.podctls()[0].Instance()
		expect(t, fields(w.ran(0, time.Second, "orphans"), "default/kept"), "name-reserved", run+" desires another pod of its name")
		expect(t, w.ran(0, 10*time.Second, "orphans", "--kill", "--rm"), "default/kept removed\n")
		if made := strings.Join(w.endings(), ", "); made != "StopContainer default/kept/c, StopPodSandbox default/kept, RemoveContainer default/kept/c, RemovePodSandbox default/kept" {
			t.Errorf("calls: %s", made)
		}
		expect(t, w.ran(0, time.Second, "orphans"), "no orphans\n")
		c.interrupt()
		c.ends(shell.ExitInterrupted, 30*time.Second)
	})
}

// A pod that is being terminated cannot be adopted: its name is locked.
func TestNoPodctlAdoptsAPodThatIsBeingTerminated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		deaf := strings.Replace(keptManifest, "exit 0", "", 1)
		c := w.run(deaf, "--keep")
		c.interrupt()
		c.ends(shell.ExitInterrupted, 5*time.Second)
		kill := w.start(nil, "orphans", "--kill", "--rm", "--grace-period", "30")
		time.Sleep(5 * time.Second)
		run := w.start(strings.NewReader(deaf), "run", "-")
		run.ends(shell.ExitFailed, 5*time.Second)
		expect(t, run.errw.String(), `pod "kept_default" is managed by the living podctl "orphans-`)
		kill.ends(0, time.Minute)
		kill.printed("default/kept removed\n")
		w.holds(0)
	})
}
