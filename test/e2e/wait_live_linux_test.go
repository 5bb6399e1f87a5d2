package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live/bare"
)

// What wait, inspect and version say of podctl's pod and of one that was made by the
// CRI alone.
func TestWaitAndInspect(t *testing.T) {
	withPods(t, []insideCase{
		{"ready is the API status, or that all containers run", func(t *testing.T, in *inside) {
			for _, name := range []string{"web", "bare"} {
				if out, errw, code := in.podctl("wait", name, "--for=condition=Ready", "--timeout=2m"); code != 0 || !strings.Contains(out, "/"+name+": condition=Ready") {
					t.Errorf("%s: exit code %d\n%s%s", name, code, out, errw)
				}
			}
			if out, errw, code := in.podctl("wait", "web", "--for=jsonpath={.status}=Running", "-o", "json"); code != 0 || !strings.Contains(out, `"met":true`) {
				t.Errorf("exit code %d\n%s%s", code, out, errw)
			}
			_, errw, code := in.podctl("wait", "bare", "--for=condition=Initialized")
			if code != 1 || !strings.Contains(errw, "only Ready is known") {
				t.Errorf("exit code %d\n%s", code, errw)
			}
		}},
		{"a time-out names what was seen", func(t *testing.T, in *inside) {
			begun := time.Now()
			_, errw, code := in.podctl("wait", "web/shell", "--for=exit", "--timeout=1s")
			if code != 1 || !strings.Contains(errw, "web/shell: exit is not met after 1s: the container is running") || time.Since(begun) > 10*time.Second {
				t.Errorf("exit code %d after %s\n%s", code, time.Since(begun), errw)
			}
		}},
		{"the runtime's verbose status, by name", func(t *testing.T, in *inside) {
			for _, name := range []string{"web/c", "bare"} {
				out, errw, code := in.podctl("inspect", name)
				var got struct {
					Sandboxes, Containers []struct {
						Status struct{ ID, State string }
						Info   struct{ Pid int }
					}
				}
				if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || len(got.Sandboxes) != 1 || len(got.Containers) != 1 {
					t.Errorf("%s: %v, exit code %d\n%s%s", name, err, code, out, errw)
					continue
				}
				if c := got.Containers[0]; c.Status.State != "CONTAINER_RUNNING" || c.Info.Pid == 0 {
					t.Errorf("%s: %+v", name, c)
				}
				// An id stands for the same.
				id := got.Containers[0].Status.ID
				if out, errw, code := in.podctl("inspect", id[:13], "-o", "jsonpath={.containers[0].status.id}"); code != 0 || out != id {
					t.Errorf("%s: exit code %d, %q, want %q\n%s", name, code, out, id, errw)
				}
			}
		}},
		{"completion has live names", func(t *testing.T, in *inside) {
			out, errw, code := in.podctl("__complete", "--timeout=10s", "--", "logs", "web/")
			if code != 0 || !strings.Contains(out, "web/c\trunning") || !strings.Contains(out, "web/shell\trunning") || errw != "" {
				t.Errorf("exit code %d\n%s%s", code, out, errw)
			}
		}},
		{"the runtime's version", func(t *testing.T, in *inside) {
			out, errw, code := in.podctl("version", "-o", "jsonpath={.runtime.name} {.runtime.api}")
			if code != 0 || !strings.HasSuffix(out, " v1") || errw != "" {
				t.Errorf("exit code %d, %q\n%s", code, out, errw)
			}
		}},
		{"an exit code, then a deletion", func(t *testing.T, in *inside) {
			client, err := bare.Dial(in.rt.Endpoint)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			p, err := client.Start(t.Context(), bare.Spec{
				Name: "ends", Image: "docker.io/library/busybox:latest", Command: []string{"sh", "-c", "sleep 2; exit 7"}, LogDir: in.path("logs"),
			})
			if err != nil {
				t.Fatal(err)
			}
			if out, errw, code := in.podctl("wait", "ends", "--for=exit", "--exit-code", "--timeout=2m"); code != 7 || !strings.Contains(out, "exited 7") {
				t.Errorf("exit code %d\n%s%s", code, out, errw)
			}
			gone := make(chan string, 1)
			go func() {
				out, errw, _ := in.podctl("wait", "ends", "--for=delete", "--timeout=2m")
				gone <- out + errw
			}()
			if err := client.Remove(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if said := <-gone; !strings.Contains(said, "ends: delete") && said != "" { // it may have been gone before
				t.Error(said)
			}
		}},
	})
}
