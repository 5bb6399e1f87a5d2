package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// The runtime has a kubelet's pod with the UID of a pod that podctl runs: both live, each
// under its name, and commands on the one leave the other.
func TestForeignPodWithTheUIDOfAPodLivesBesideIt(t *testing.T) {
	t.Parallel()
	live.One(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		run := p.start(strings.Replace(pod("web", obedient, brief), "{name: web}", "{name: web, uid: uid-of-both}", 1), "-")
		run.prints("c started")
		l := p.planter()
		other := l.make(bare.Spec{Name: "other", UID: "uid-of-both"})
		lives := func(when string) {
			t.Helper()
			if s, err := l.c.Status(t.Context(), other); err != nil || s.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
				t.Errorf("%s the foreign container is %v, %v", when, s.GetState(), err)
			}
			if _, err := os.Stat(other.LogPath()); err != nil {
				t.Errorf("%s its log is gone: %v", when, err)
			}
		}
		time.Sleep(10 * time.Second) // the next full relists and housekeepings
		lives("while podctl runs its pod")
		out := p.does("pods")
		if web, foreign := lineOf(out, "default/web"), lineOf(out, "default/other"); !strings.Contains(web, "Running") || !strings.Contains(foreign, "Running") || !strings.Contains(foreign, "kubelet") {
			t.Errorf("the pods are\n%s", out)
		}
		p.does("exec", "web", "--", "true")
		p.does("exec", "other", "--", "true")
		p.does("stop", "web")
		lives("after podctl stop web")
		run.signal(syscall.SIGTERM)
		run.wait()
		lives("after the end of podctl run")
		if err := l.c.End(t.Context(), other); err != nil {
			t.Error(err)
		}
	})
}
