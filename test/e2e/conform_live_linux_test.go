package e2e

import (
	"strings"
	"testing"

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

func noPodsOf(t *testing.T, p *place, namespace string) {
	t.Helper()
	if out, errw, code := p.podctl("pods", "-o", "name"); code != 0 || strings.Contains(out, namespace) {
		t.Errorf("exit code %d, left over:\n%s%s", code, out, errw)
	}
}
