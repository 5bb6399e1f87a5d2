package cri

import (
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/pod"
)

// A dead sandbox of an earlier attempt that stops does not hide that the
// containers and the sandbox of the pod go on.
func TestTerminatePodReportsARunningSandboxBesideAStoppedOne(t *testing.T) {
	bubble(t, func(t *testing.T, r *sim.Runtime, c *Client) {
		dead := must(t)(c.RunPodSandbox(t.Context(), sandboxConfig("p", 1), ""))
		if err := c.StopPodSandbox(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
		live, id := runPod(t, c, "p", "sleep", "3600")
		r.Inject(`method=StopContainer error=Internal message="shim is gone"`)
		p := &pod.Pod{
			Sandboxes:  []*pod.Sandbox{{ID: live, State: pod.Running}, {ID: dead, State: pod.Exited}},
			Containers: []*pod.Container{{ID: id, Name: "c", SandboxID: live, State: pod.Running}},
		}
		o := TerminateOptions{Grace: time.Second, Escalate: true}
		end := r.Inject(`method=StopPodSandbox error=Internal message="shim is gone"`)
		if err := c.TerminatePod(t.Context(), p, o); err == nil {
			t.Error("no error, and everything runs")
		}
		p.Sandboxes[0], p.Sandboxes[1] = p.Sandboxes[1], p.Sandboxes[0]
		if err := c.TerminatePod(t.Context(), p, o); err == nil {
			t.Error("the dead sandbox first: no error, and everything runs")
		}
		end()
		if err := c.TerminatePod(t.Context(), p, o); err != nil {
			t.Errorf("the sandbox stopped, and its containers with it: %v", err)
		}
	})
}
