package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// An agent that is suspended keeps its pod: stop refuses and says that it is stopped, and
// only rm --force goes past it. Once it continues, it starts the pod again.
func TestForcedRemovalGoesPastStoppedAgent(t *testing.T) {
	t.Parallel()
	live.One(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		run := p.start(pod("suspended", obedient, brief), "-")
		run.prints("c started")
		run.signal(syscall.SIGSTOP)
		if out := p.does("orphans"); strings.Contains(out, "default/suspended") || !strings.Contains(out, "is stopped (state T)") {
			t.Errorf("orphans:\n%s", out)
		}
		if out, errw, code := p.podctl("stop", "suspended"); code != 1 || !strings.Contains(errw, "is stopped (state T)") || !strings.Contains(errw, "kill -CONT") {
			t.Errorf("stop exits %d:\n%s%s", code, out, errw)
		}
		if out := p.does("rm", "--force", "suspended"); !strings.Contains(out, "removed past") {
			t.Errorf("rm --force:\n%s", out)
		}
		run.signal(syscall.SIGCONT)
		eventually(t, "the pod runs again", func() bool { return strings.Contains(lineOf(p.does("pods"), "default/suspended"), "Running") }, func() string { return p.does("pods") })
		run.signal(syscall.SIGTERM)
		run.wait()
	})
}
