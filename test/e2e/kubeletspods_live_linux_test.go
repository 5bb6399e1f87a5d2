package e2e

import (
	"errors"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The pods of a kubelet outlive an agent beside it, its death, its drain and the commands
// that stop and remove pods.
func TestKubeletPodsAreLeftAlone(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		l := a.planter()
		theirs := l.make(bare.Spec{Name: "theirs"}) // with a kubelet's labels
		a.kubelet()
		a.put("web.yaml", a.marking("web", "1"))
		first := a.agent("--beside-kubelet")
		a.wrote("web", "up1")
		first.ends(syscall.SIGKILL, -1)
		second := a.agent("--beside-kubelet", "--drain")
		second.prints("already holds the pod")
		for _, args := range [][]string{{"stop", "theirs"}, {"rm", "theirs"}, {"orphans", "--kill", "--rm", "theirs"}} {
			if out, errw, code := a.podctl(args...); code != 1 || errw == "" {
				t.Errorf("podctl %q: exit %d\n%s%s", args, code, out, errw)
			}
		}
		second.ends(syscall.SIGTERM, 0)
		a.has("web", "up1", "down1")
		status, err := l.c.Status(t.Context(), theirs)
		if err != nil || status.GetState() != runtimeapi.ContainerState_CONTAINER_RUNNING {
			t.Errorf("the container of the kubelet's pod is %v, %v", status.GetState(), err)
		}
		if err := errors.Join(l.c.Stop(t.Context(), theirs), l.c.Remove(t.Context(), theirs)); err != nil {
			t.Error(err)
		}
	})
}
