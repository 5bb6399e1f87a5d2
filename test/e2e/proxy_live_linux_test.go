package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// TestProxyFails has two failures of the gallery on a real runtime: what the proxy says is
// not what the runtime says, and the other way round. The rules are changed meanwhile.
func TestProxyFails(t *testing.T) {
	for _, kind := range live.Kinds() {
		t.Run(kind, func(t *testing.T) {
			p := makePlace(t, live.Runtime(t, kind))
			if out, errw, code := p.run(pod("web", server, brief), "--keep", "--wait", "ready", "-"); code != 0 {
				t.Fatalf("exit code %d\n%s%s", code, out, errw)
			}
			socket, file := p.path("proxy.sock"), p.path("followed.yaml")
			follow := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			unknown, err := os.ReadFile("../../examples/faults/unknown.yaml")
			if err != nil {
				t.Fatal(err)
			}
			follow(string(unknown))
			proxy := p.command("", exec.Command(binary, append(p.flags(), "proxy", "--listen", socket,
				"--rules", file, "--inject", "method=Version nth=1 delay=1ms")...))
			proxy.until("the proxy serves", func() bool {
				_, errw := proxy.output()
				return strings.Contains(errw, "serving ")
			})
			if out, errw, _ := p.podctl("-r", socket, "ps"); !strings.Contains(out, "unknown") {
				t.Errorf("%s%s", out, errw)
			}
			if out, errw, _ := p.podctl("ps"); !strings.Contains(out, "running") {
				t.Errorf("%s%s", out, errw)
			}
			follow("- {method: ListContainers, omit: true}\n- {method: StopContainer, nth: 1, lost: DeadlineExceeded}\n")
			proxy.until("the rules are followed", func() bool {
				_, errw := proxy.output()
				return strings.Contains(errw, "changed: 2 rules")
			})
			if out, errw, _ := p.podctl("-r", socket, "ps"); out != "" || !strings.Contains(errw, "no containers") {
				t.Errorf("%s%s", out, errw)
			}
			if _, errw, code := p.podctl("-r", socket, "stop", "web"); code != 1 || !strings.Contains(errw, "StopContainer") && !strings.Contains(errw, "stop container") {
				t.Errorf("exit code %d, %s", code, errw)
			}
			if out, errw, _ := p.podctl("ps", "-a"); !strings.Contains(out, "exited") {
				t.Errorf("%s%s", out, errw)
			}
			proxy.prints("StopContainer default/web/c  rule 4, followed.yaml:2 (firing 1)")
			proxy.ends(syscall.SIGINT, 0)
			if out, errw, code := p.podctl("rm", "web"); code != 0 {
				t.Errorf("exit code %d\n%s%s", code, out, errw)
			}
			if out, errw, _ := p.podctl("pods", "-o", "name"); out != "" {
				t.Errorf("left over: %s%s", out, errw)
			}
		})
	}
}
