package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A pod whose StopContainer and StopPodSandbox never return delays no other pod;
// podctl terminating names the layer and the next command; when the runtime
// answers again the pod terminates.
func TestHungStopDelaysNoOtherPod(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		socket, file := a.path("proxy.sock"), a.path("rules.yaml")
		rules := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rules("- {method: Stop*, pod: stuck, hang: true}\n")
		proxy := a.command("", exec.Command(binary, append(a.flags(), "proxy", "--listen", socket, "--rules", file)...))
		proxy.until("the proxy serves", func() bool {
			_, errw := proxy.output()
			return strings.Contains(errw, "serving ")
		})
		a.endpoint = "unix://" + socket
		a.put("stuck.yaml", a.lone("stuck", "", "terminationGracePeriodSeconds: 6"))
		a.put("web.yaml", a.lone("web", "1"))
		agent := a.agent("--drain")
		a.lived("stuck", "up")
		a.lived("web", "up1")
		a.remove("stuck.yaml")
		a.put("web.yaml", a.lone("web", "2"))
		a.lived("web", "up1", "down1", "up2")
		var out string
		eventually(t, "terminating names the layer", func() bool {
			out = a.does("terminating")
			return strings.Contains(lineOf(out, "default/stuck"), " runtime ")
		}, func() string { return out })
		if !strings.Contains(out, "StopContainer") || !strings.Contains(out, "hint: ") {
			t.Errorf("neither the call nor what to type next:\n%s", out)
		}
		a.lived("stuck", "up")
		rules("[]\n")
		a.lived("stuck", "up", "down")
		a.holds("web")
		agent.ends(syscall.SIGTERM, 0)
		a.lived("web", "up1", "down1", "up2", "down2")
		proxy.ends(syscall.SIGINT, 0)
	})
}
