package e2e

import (
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/lab/bench"
	"github.com/podctl/podctl/internal/lab/conform"
	"github.com/podctl/podctl/test/live"
)

// TestConform: no runtime deviates in a way that it is not known for, and no pod is left.
func TestConform(t *testing.T) {
	live.Each(t, func(t *testing.T, rt *live.Instance) {
		p := makePlace(t, rt)
		if out, errw, code := p.podctl("conform"); code != 0 {
			t.Errorf("exit code %d\n%s%s", code, out, errw)
		}
		noPodsOf(t, p, conform.Namespace)
	})
}

// TestBench: it measures each step, and no pod is left.
func TestBench(t *testing.T) {
	live.Each(t, func(t *testing.T, rt *live.Instance) {
		p := makePlace(t, rt)
		out, errw, code := p.podctl("bench", "--pods", "3", "--rounds", "1", "-o", `jsonpath={range .results[*]}{.measure}={.count} {end}`)
		const want = "pod started=3 RunPodSandbox=3 CreateContainer=3 StartContainer=3 ListPodSandbox=200 ListContainers=200 PodSandboxStatus=200 ContainerStatus=200 ExecSync=20 exit to event=3 StopContainer=3 pod stopped, removed=3 StopPodSandbox=3 RemovePodSandbox=3 "
		if code != 0 || out != want {
			t.Errorf("exit code %d\n%s\nwant\n%s\n%s", code, out, want, errw)
		}
		noPodsOf(t, p, bench.Namespace)
	})
}

func noPodsOf(t *testing.T, p *place, namespace string) {
	t.Helper()
	if out, errw, code := p.podctl("pods", "-o", "name"); code != 0 || strings.Contains(out, namespace) {
		t.Errorf("exit code %d, left over:\n%s%s", code, out, errw)
	}
}
