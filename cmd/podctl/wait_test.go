package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
)

// foreign is a pod that no podctl created, as crictl does.
type foreign struct {
	w       *world
	config  *runtimeapi.PodSandboxConfig
	sandbox string
}

func (w *world) foreign(namespace, name string) *foreign {
	w.t.Helper()
	config := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Namespace: namespace, Name: name, Uid: "uid-" + name}, LogDirectory: w.dir}
	r, err := w.sim.RunPodSandbox(w.t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		w.t.Fatal(err)
	}
	return &foreign{w, config, r.PodSandboxId}
}

// create creates a container, and returns its id.
func (f *foreign) create(name, command string) string {
	f.w.t.Helper()
	if _, err := f.w.sim.PullImage(f.w.t.Context(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "busybox"}}); err != nil {
		f.w.t.Fatal(err)
	}
	r, err := f.w.sim.CreateContainer(f.w.t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: f.sandbox, SandboxConfig: f.config, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name}, Image: &runtimeapi.ImageSpec{Image: "busybox"}, Command: []string{"sh", "-c", command}, LogPath: name + ".log",
	}})
	if err != nil {
		f.w.t.Fatal(err)
	}
	return r.ContainerId
}

func (f *foreign) start(id string) {
	f.w.t.Helper()
	if _, err := f.w.sim.StartContainer(f.w.t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		f.w.t.Fatal(err)
	}
}

func (f *foreign) remove() {
	f.w.t.Helper()
	if _, err := f.w.sim.StopPodSandbox(f.w.t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: f.sandbox}); err != nil {
		f.w.t.Fatal(err)
	}
	if _, err := f.w.sim.RemovePodSandbox(f.w.t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: f.sandbox}); err != nil {
		f.w.t.Fatal(err)
	}
}

func TestWaitForAForeignPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := w.foreign("test", "bare")
		main := f.create("main", "sleep 20; exit 3")

		ready := w.start(nil, "wait", "bare", "--for=condition=Ready")
		time.Sleep(5 * time.Second)
		f.start(main)
		ready.ends(shell.ExitOK, time.Second)
		ready.printed("test/bare: condition=Ready\n")

		// A code other than the wanted one is known at once.
		zero := w.start(nil, "wait", "bare", "--for", "exit=0", "--timeout=10m")
		code := w.start(nil, "wait", "test/bare/main", "--for", "exit", "--exit-code", "-o", "json")
		time.Sleep(25 * time.Second)
		zero.ends(shell.ExitFailed, time.Second)
		zero.warned("podctl: wait: test/bare/main: exit=0 cannot be met: it exited 3\n")
		code.ends(3, time.Second)
		var got struct {
			Pod, Container string
			Met            bool
			ExitCode       int
		}
		if err := json.Unmarshal([]byte(code.out.String()), &got); err != nil || got.Pod != "test/bare" || got.Container != "main" || !got.Met || got.ExitCode != 3 {
			t.Errorf("%v: %s", err, code.out.String())
		}

		gone := w.start(nil, "wait", "bare", "nope", "--for=delete")
		time.Sleep(5 * time.Second)
		f.remove()
		gone.ends(shell.ExitOK, time.Second)
		gone.printed("test/bare: delete\n")
	})
}

// What was last seen is named for every target that did not get there in time.
func TestWaitTimesOutWithWhatWasSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.foreign("test", "a"), w.foreign("test", "b")
		a.start(a.create("main", "sleep 1000"))
		b.create("main", "sleep 1000")
		c := w.start(nil, "wait", "a", "b", "--for=condition=Ready", "--timeout", "7s")
		time.Sleep(6 * time.Second)
		c.printed("test/a: condition=Ready\n")
		c.ends(shell.ExitFailed, 2*time.Second)
		c.warned("podctl: wait: test/b: condition=Ready is not met after 7s: Ready is False: 0 of 1 containers run\n")

		once := w.start(nil, "wait", "b", "--for=exit", "--timeout", "0")
		once.ends(shell.ExitFailed, time.Second)
		once.warned("podctl: wait: test/b/main: exit is not met: the container is created\n")

		c = w.start(nil, "wait", "a", "--for=exit", "--timeout=1h")
		time.Sleep(time.Second)
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Second)
	})
}

// Without events a change is seen by the relist, one second later at most.
func TestWaitNeedsNoEvents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.SetEvents(sim.EventsUnimplemented)
		f := w.foreign("test", "bare")
		f.start(f.create("main", "sleep 5"))
		c := w.start(nil, "wait", "bare", "--for=exit", "--exit-code")
		time.Sleep(4 * time.Second)
		c.ends(shell.ExitOK, 3*time.Second)
		c.printed("test/bare/main exited 0\n")
	})
}

// The condition of a pod that podctl manages is that of its API status, and a path is
// into what podctl pods prints.
func TestWaitForAManagedPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.run(strings.Replace(jobManifest, "echo done", "sleep 300", 1))
		w.start(nil, "wait", "job", "--for=condition=ContainersReady").ends(shell.ExitOK, 5*time.Second)
		c := w.start(nil, "wait", "job", "--for=jsonpath={.phase}=Running")
		c.ends(shell.ExitOK, 5*time.Second)
		c.printed("default/job: jsonpath={.phase}=Running\n")
		c = w.start(nil, "wait", "job", "--for=jsonpath={.status.phase}=Running", "--timeout=0")
		c.ends(shell.ExitFailed, time.Second)
		c.warned("hint: the path is into what podctl pods -o json prints: podctl pods default/job -o json")
		p.interrupt()
		p.ends(shell.ExitInterrupted, time.Minute)
	})
}

// warned asserts what stderr holds.
func (c *command) warned(text string) {
	c.t.Helper()
	if !strings.Contains(c.errw.String(), text) {
		c.t.Errorf("stderr has no %q:\n%s", text, c.errw.String())
	}
}
