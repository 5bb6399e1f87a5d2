package look

import (
	"errors"
	"testing"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/testkit/testutil"
)

func TestExecInFrozenContainerSaysWhoKnowsWhatFreezesIt(t *testing.T) {
	web := testutil.ListedPod("web", "agent", pod.Running, pod.Running)
	in := target.Target{Pod: &view.Pod{Metadata: view.Metadata{Name: "web", Namespace: "default"}, Runtime: web}, Container: web.Containers[0]}
	err := explainExec(in, []string{"true"}, errors.New("OCI runtime exec failed: exec failed: cannot exec in a paused container (use --ignore-paused to override): unknown"))
	if want := "podctl describe default/web names the cgroup that freezes it, and the command that thaws it"; hint.Of(err) != want {
		t.Errorf("%q, want %q", hint.Of(err), want)
	}
}
