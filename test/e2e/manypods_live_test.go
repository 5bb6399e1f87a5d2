package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/testkit/testutil"
)

// crowdStall is how long nothing may happen to a crowd of pods, on a machine that is busy.
const crowdStall = 4 * time.Minute

// quiet is a pod that marks its start and uses no CPU while it runs.
func (a *agentPlace) quiet(name string) string {
	return a.marked(name, fmt.Sprintf(`cd /mark; trap "rmdir %[1]s.on; exit 0" TERM; mkdir %[1]s.on || echo %[1]s >> twice; echo %[1]s >> started; sleep 3600 & wait`, name))
}

// Thirty pods are started and removed by agents, the first of which is killed: each of
// the pods ran once. make scale measures larger numbers.
func TestThirtyPodsComeAndGo(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		const pods = 30
		for n := range pods {
			name := fmt.Sprintf("p%03d", n)
			a.put(name+".yaml", a.quiet(name))
		}
		begin := time.Now()
		first := a.agent()
		a.within("all pods run", func() bool { return len(a.marks("started")) >= pods })
		a.within("the runtime has said so of all: else it calls their starts off with the agent's end", func() bool {
			out, _ := first.output()
			return strings.Count(out, "c started") >= pods
		})
		up := time.Since(begin)
		first.ends(syscall.SIGKILL, -1)
		second := a.agent()
		a.removeAll()
		begin = time.Now()
		a.within("all pods are gone", a.empty)
		t.Logf("up in %s, gone in %s", up.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
		second.ends(syscall.SIGTERM, 0)
		a.oneLifeEach(pods)
		if left := glob(t, a.path("mark")+"/*.on"); len(left) > 0 {
			t.Errorf("killed rather than told to end: %q", left)
		}
	})
}

// oneLifeEach asserts that so many pods have started, each once.
func (a *agentPlace) oneLifeEach(pods int) {
	a.t.Helper()
	a.has("twice")
	seen := map[string]bool{}
	for _, name := range a.marks("started") {
		if seen[name] {
			a.t.Errorf("%s started twice", name)
		}
		seen[name] = true
	}
	if len(seen) != pods {
		a.t.Errorf("%d pods started, want %d", len(seen), pods)
	}
}

// removeAll removes all manifests.
func (a *agentPlace) removeAll() {
	a.t.Helper()
	for _, path := range glob(a.t, a.path("manifests")+"/*.yaml") {
		if err := os.Remove(path); err != nil {
			a.t.Fatal(err)
		}
	}
}

// count is how many pods the runtime holds.
func (a *agentPlace) count() int {
	a.t.Helper()
	pods, err := a.client.ListPods(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return len(pods)
}

// empty reports whether the runtime holds no pod, and no pod has a directory: an
// agent that is stopped does not finish removing leftover files.
func (a *agentPlace) empty() bool {
	a.t.Helper()
	return a.count() == 0 && len(glob(a.t, a.path("root")+"/pods/*")) == 0 && len(glob(a.t, a.path("logs")+"/*")) == 0
}

// within waits for a condition that takes long, while pods come or go.
func (a *agentPlace) within(what string, is func() bool) {
	a.t.Helper()
	testutil.Moving(a.t, crowdStall, what, is, func() string {
		return fmt.Sprintf("the runtime holds %d pods, %d have started", a.count(), len(a.marks("started")))
	})
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
