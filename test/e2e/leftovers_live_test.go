package e2e

import (
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// What a killed podctl left of a pod is removed by the next podctl of its name, although
// that pod is not desired any more.
func TestLeftoversOfAnEarlierManifestAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		if strings.HasPrefix(rt.Kind, live.CRIO) {
			t.Skip("CRI-O may wait for minutes for a creation whose client is dead, also when it has ended")
		}
		p := at(t, rt).proxied()
		kill := p.killAt("during", "RunPodSandbox")
		first := p.start(p.marked("job", "echo old >> /mark/job", never), "-")
		kill <- first
		if code := first.wait(); code != -1 {
			t.Fatalf("podctl was not killed: exit %d", code)
		}
		out, errw, code := p.run(p.marked("job", "echo new >> /mark/job", never), "-")
		if code != 0 {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		p.has("job", "new")
	})
}
