package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/render"
)

// withPort is a pod with a host port.
func withPort(name string, port int) string {
	return strings.Replace(podYAML(name, "sleep 3600", "terminationGracePeriodSeconds: 1"),
		"command:", fmt.Sprintf("ports: [{containerPort: 80, hostPort: %d}], command:", port), 1)
}

// The network leads a host port to the pod of a dead podctl process, and to one that
// podctl did not create, for as long as it runs.
func TestHostPortsOfAbandonedPodsAreInUse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		left := w.podctl("run-a", withPort("left", 8080))
		left.until("left", "running", running)
		left.kill()
		b := w.podctl("run-b")
		sandbox, err := render.Sandbox(desire(t, withPort("foreign", 9090))[0].Pod, render.SandboxInput{Node: b.opts.Facts})
		if err != nil {
			t.Fatal(err)
		}
		id, err := b.client.RunPodSandbox(t.Context(), sandbox, "")
		if err != nil {
			t.Fatal(err)
		}
		b.want(withPort("first", 8080), withPort("second", 9090), withPort("third", 7070))
		for name, other := range map[string]string{"first": "default/left", "second": "default/foreign"} {
			i := b.until(name, "waiting", waits(lifecycle.HostPortInUse))
			if text := i.Rejected.Error(); !strings.Contains(text, other) {
				t.Errorf("%s waits for %s: %s", name, other, text)
			}
		}
		b.until("third", "running", running)
		if err := b.client.RemovePodSandbox(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		b.until("second", "running", running)
		b.want(withPort("left", 8080)) // adopted: the port is its own
		b.until("left", "running", func(i Info) bool { return running(i) && i.Adopted })
		b.drain()
		w.empty()
	})
}
