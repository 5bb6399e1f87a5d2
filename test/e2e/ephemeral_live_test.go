package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// An ephemeral container that a manifest gains runs once in the sandbox of the
// running pod, sees the processes of its target and the pod's volumes, and is in the
// status, also of the next agent.
func TestEphemeralContainers(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		web := a.marked("web", "exec sleep 3600", brief)
		debug := func(name, target string) string {
			return fmt.Sprintf("  - name: %s\n    targetContainerName: %s\n    image: docker.io/library/busybox:latest\n    imagePullPolicy: IfNotPresent\n"+
				"    volumeMounts: [{name: mark, mountPath: /mark}]\n"+
				"    command: [sh, -c, \"until grep -q ^sleep /proc/1/cmdline; do sleep 0.1; done; tr '\\\\0' ' ' < /proc/1/cmdline > /mark/.s; cat /mark/.s >> /mark/%s; exit 7\"]\n", name, target, name)
		}
		with := func(containers ...string) string {
			return strings.Replace(web, "---\n", "  ephemeralContainers:\n"+strings.Join(containers, "")+"---\n", 1)
		}
		a.put("web.yaml", web)
		agent := a.agent()
		eventually(t, "the pod runs", func() bool { return a.status("web").Phase == "Running" }, func() string { return fmt.Sprintf("%+v", a.status("web")) })
		sandbox := a.sandboxes()["web"]

		a.put("web.yaml", with(debug("look", "c")))
		ended := func(n int) {
			t.Helper()
			eventually(t, "ephemeral containers have exited with 7", func() bool {
				s := a.status("web").EphemeralContainerStatuses
				return len(s) == n && s[n-1].State.Terminated != nil && s[n-1].State.Terminated.ExitCode == 7
			}, func() string { return fmt.Sprintf("%+v", a.status("web").EphemeralContainerStatuses) })
		}
		ended(1)
		a.wrote("look", "sleep", "3600")

		agent.signal(syscall.SIGKILL)
		agent.wait()
		a.put("web.yaml", with(debug("look", "c"), debug("more", "c")))
		agent = a.agent()
		ended(2)
		a.wrote("more", "sleep", "3600")
		a.has("look", "sleep", "3600")
		if now := a.sandboxes()["web"]; now != sandbox {
			t.Errorf("sandbox %s became %s", sandbox, now)
		}
		if got := a.status("web"); got.Phase != "Running" || got.ContainerStatuses[0].RestartCount != 0 {
			t.Errorf("status: %+v", got)
		}
		a.remove("web.yaml")
		a.holds()
		agent.ends(syscall.SIGTERM, 0)
	})
}
