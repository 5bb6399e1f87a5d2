package main

import (
	"encoding/json"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// attempt creates and starts an attempt of a container, which exits with the code.
func (f *foreign) attempt(name string, attempt uint32, command string) string {
	f.w.t.Helper()
	r, err := f.w.sim.CreateContainer(f.w.t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: f.sandbox, SandboxConfig: f.config, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name, Attempt: attempt}, Image: &runtimeapi.ImageSpec{Image: "busybox"}, Command: []string{"sh", "-c", command}, LogPath: name + ".log",
		Annotations: map[string]string{"podctl.io/manifest": "H4sI"},
	}})
	if err != nil {
		f.w.t.Fatal(err)
	}
	f.start(r.ContainerId)
	return r.ContainerId
}

func TestInspectJoinsSandboxAndContainers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := w.foreign("test", "bare")
		f.create("side", "sleep 1")
		first := f.attempt("main", 0, "exit 3")
		time.Sleep(time.Second)
		second := f.attempt("main", 1, "sleep 100")

		run := func(args ...string) *command {
			c := w.start(nil, append([]string{"inspect"}, args...)...)
			c.ends(shell.ExitOK, 5*time.Second)
			c.silent()
			return c
		}
		var got struct {
			Metadata              struct{ Namespace, Name, UID string }
			Sandboxes, Containers []struct {
				Status struct {
					ID          string
					Metadata    struct{ Name string }
					State       string
					ExitCode    int
					Annotations map[string]string
				}
			}
		}
		if err := json.Unmarshal([]byte(run("bare").out.String()), &got); err != nil {
			t.Fatal(err)
		}
		if got.Metadata.UID != "uid-bare_test_bare" || len(got.Sandboxes) != 1 || got.Sandboxes[0].Status.ID != f.sandbox || len(got.Containers) != 2 {
			t.Fatalf("%+v", got)
		}
		for _, c := range got.Containers {
			if c.Status.Metadata.Name == "main" && (c.Status.ID != second || c.Status.State != "CONTAINER_RUNNING" || c.Status.Annotations["podctl.io/manifest"] != "***") {
				t.Errorf("%+v", c)
			}
		}
		run("-p", "test/bare/main", "-o", "jsonpath={.containers[0].status.id} {.containers[0].status.exitCode}").printed(first + " 3")
		run("bare", "--show-secrets", "-c", "main", "-o", "jsonpath={.containers[*].status.annotations}").printed("H4sI")
		run("b*", "-o", "jsonpath={[0].metadata.name}").printed("bare")
		run("pod", "bare", "-o", "yaml").printed("  name: bare\n")

		c := w.start(nil, "inspect", "bare", "-o", "table")
		c.ends(shell.ExitUsage, time.Second)
		c = w.start(nil, "inspect", "bar", "nope")
		c.ends(shell.ExitFailed, time.Second)
		c.warned("hint: did you mean test/bare?")
	})
}
