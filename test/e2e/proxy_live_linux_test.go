package e2e

import (
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
			socket := p.path("proxy.sock")
			proxy := p.command("", exec.Command(binary, append(p.flags(), "proxy", "--listen", socket,
				"--rules", "../../examples/faults/unknown.yaml", "--inject", "method=Version nth=1 delay=1ms")...))
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
			rules := func(want int, args ...string) string {
				t.Helper()
				out, errw, code := p.podctl(append([]string{"proxy", "rules", "--proxy", socket, "--no-headers"}, args...)...)
				if code != want {
					t.Errorf("proxy rules %v: exit code %d, %s", args, code, errw)
				}
				return strings.Join(strings.Fields(out), " ")
			}
			if out := rules(0); !strings.HasPrefix(out, "1 ") || !strings.Contains(out, " 2 1 1 unknown.yaml:3 method=*Containers ") {
				t.Error(out)
			}
			rules(1, "--remove", "2", "--add", "method=ListContainers drop")
			if out := rules(0, "--remove", "2", "--add", "method=ListContainers omit", "--add", "method=StopContainer nth=1 lost=DeadlineExceeded"); strings.Contains(out, "method=*Containers") {
				t.Error(out)
			}
			if out, errw, _ := p.podctl("-r", socket, "ps"); out != "" || !strings.Contains(errw, "no containers") {
				t.Errorf("%s%s", out, errw)
			}
			if out := rules(0, "--remove", "3", "--remove", "4"); !strings.HasSuffix(out, " 5 0 0 --add method=StopContainer nth=1 lost=DeadlineExceeded") {
				t.Error(out)
			}
			if _, errw, code := p.podctl("-r", socket, "stop", "web"); code != 1 || !strings.Contains(errw, "StopContainer") && !strings.Contains(errw, "stop container") {
				t.Errorf("exit code %d, %s", code, errw)
			}
			if out, errw, _ := p.podctl("ps", "-a"); !strings.Contains(out, "exited") {
				t.Errorf("%s%s", out, errw)
			}
			proxy.prints("StopContainer default/web/c  rule 5, --add (firing 1)")
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
