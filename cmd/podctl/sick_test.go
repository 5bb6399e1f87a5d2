package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pod"
)

// plantSick plants pods, the first ones of which have exited containers whose statuses
// hang, and an image that nothing uses.
func (w *world) plantSick(sick, sound int) {
	w.t.Helper()
	for i := range sick {
		name := fmt.Sprintf("sick-%d", i)
		w.plant(name, "sh", "-c", "exit 3")
		w.sim.Inject("method=ContainerStatus pod=" + name + " hang")
	}
	for i := range sound {
		w.plant(fmt.Sprintf("sound-%d", i), "sh", "-c", "exit 4")
	}
	w.plant("runs", "sleep", "3600")
	if _, err := w.sim.PullImage(w.t.Context(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "spare:1"}}); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Second)
}

// told runs podctl, which may warn, and matches what it printed with expressions.
func (w *world) told(code int, within time.Duration, expressions []string, args ...string) {
	w.t.Helper()
	c := w.start(nil, args...)
	c.ends(code, within)
	for _, e := range expressions {
		if text := c.out.String() + c.errw.String(); !regexp.MustCompile(e).MatchString(text) {
			w.t.Errorf("podctl %s: no %q in:\n%s", strings.Join(args, " "), e, text)
		}
	}
}

const aWhile = 3 * time.Second

func TestContainersWhoseStatusHangsHoldUpNoList(t *testing.T) {
	for _, sick := range []int{1, 40} {
		inWorld(t, func(t *testing.T, w *world) {
			w.plantSick(sick, 3)
			w.told(0, aWhile, []string{
				"warning: not read: default/sick-0.*: read status of container .*no answer within 2s",
				`default/sick-0 +ExitCode:unknown `, `default/sound-2 +Error `, `default/runs +Running `,
			}, "pods")
			w.told(0, aWhile, []string{
				`"unread": "read status of container \w+: no answer within 2s"`, `"status": "ExitCode:unknown"`, `"status": "Error"`,
			}, "pods", "-o", "json")
			w.told(0, aWhile, []string{
				"warning: what default/sick-0/c.* mounts is not known: ", `spare:1 .* unknown\n`, `busybox.* default/runs`,
			}, "images")
			w.told(0, aWhile, []string{`"maybeUsedBy": \[\s+\{\s+"namespace": "default",\s+"pod": "sick-0"`}, "images", "-o", "json")
			w.told(0, aWhile, []string{`^\[\]`}, "images", "--unused", "-o", "json")
			for _, command := range []string{"orphans", "terminating", "top"} {
				w.told(0, aWhile, nil, command)
			}
			w.told(0, 2*aWhile, []string{`c +exited, how is not known`, "Not read\n(  .*\n)*  status: read status of container "}, "describe", "sick-0")
		})
	}
}

func TestTerminatingPodsWhoseStatusesHangAreAllListed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i := range 40 {
			name := fmt.Sprintf("sick-%d", i)
			sandbox := w.plant(name, "sleep", "3600")
			w.sim.KillSandbox(sandbox)
			w.sim.Inject("method=ContainerStatus pod=" + name + " hang")
		}
		w.told(0, aWhile, []string{`default/sick-0 `, `default/sick-39 `, `no answer within 2s`}, "terminating")
	})
}

func TestImageThatMayBeInUseIsKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.plantSick(1, 1)
		maybe := "may be in use: what default/sick-0/c mounts is not known: read status of container "
		out := w.ran(shell.ExitFailed, aWhile, "prune", "--yes")
		expect(t, out, "podctl: prune: kept 1 image that "+maybe, "hint: podctl rmi --force IMAGE removes an image all the same")
		expect(t, w.ran(shell.ExitFailed, aWhile, "prune", "--dry-run"), "kept 1 image that "+maybe)
		expect(t, w.ran(shell.ExitFailed, aWhile, "rmi", "spare:1"), "podctl: rmi: docker.io/library/spare:1 "+maybe, "hint: podctl rmi --force removes it all the same")
		if removed := w.sim.Calls("RemoveImage"); len(removed) > 0 {
			t.Fatalf("removed: %v", removed)
		}
		w.ran(0, aWhile, "rmi", "--force", "spare:1")
	})
}

// An image volume is in the spec, and specs without one are known of the pods that live
// podctl processes report.
func TestImagesArePrunedBesideSickContainerOfKnownSpec(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.plantSick(0, 0)
		run := w.run(hooked)
		heal := w.sim.Inject("method=ContainerStatus pod=hooked hang")
		expect(t, w.ran(0, aWhile, "images", "--unused"), "spare:1")
		heal()
		run.interrupt()
		run.ends(shell.ExitInterrupted, 5*time.Minute)
	})
}

// A container that crictl created in a pod of a kubelet's is in no pod.
func TestImageOfContainerInNoPodIsInUse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		config := &runtimeapi.PodSandboxConfig{
			Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u"},
			Labels:   map[string]string{pod.UIDLabel: "u", pod.NameLabel: "web", pod.NamespaceLabel: "default"},
		}
		sandbox, err := w.sim.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.sim.PullImage(t.Context(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "tools:1"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.sim.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
			PodSandboxId: sandbox.PodSandboxId, SandboxConfig: config,
			Config: &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "tools"}, Image: &runtimeapi.ImageSpec{Image: "tools:1"}},
		}); err != nil {
			t.Fatal(err)
		}
		w.told(0, aWhile, []string{`tools:1 .* default/web`}, "images")
		w.told(0, aWhile, nil, "prune", "--yes")
		w.told(1, aWhile, []string{`tools:1 is in use by default/web`}, "rmi", "tools:1")
	})
}
