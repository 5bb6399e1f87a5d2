package survey

import (
	"errors"
	"testing"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// inventoryPod is a pod with a container; source is the kubelet's annotation.
func inventoryPod(source string, state pod.State) *view.Pod {
	return &view.Pod{Runtime: &pod.Pod{
		Sandboxes: []*pod.Sandbox{{State: pod.Running, Source: source}}, Containers: []*pod.Container{{State: state}},
	}}
}

// TestTerminationsAreKnownOnlyIfEachOwnerAnswersOrProcessesAreVisible: absence of
// evidence is not evidence.
func TestTerminationsAreKnownOnlyIfEachOwnerAnswersOrProcessesAreVisible(t *testing.T) {
	silent := errors.New("silent")
	kubelets, foreign := inventoryPod("api", pod.Running), inventoryPod("", pod.Running)
	managed := inventoryPod("", pod.Running)
	managed.Manager = &control.Process{}
	for _, c := range []struct {
		name       string
		pod        *view.Pod
		unanswered error
		visible    bool
		want       error
	}{
		{"a kubelet that answers", kubelets, nil, false, nil},
		{"a silent kubelet", kubelets, silent, true, silent},
		{"a silent kubelet of another pod", foreign, silent, true, nil},
		{"a foreign pod that is visible", foreign, nil, true, nil},
		{"a foreign pod that is not", foreign, nil, false, errHidden},
		{"a foreign pod that does not run", inventoryPod("", pod.Exited), nil, false, nil},
		{"a podctl process that answers", managed, silent, false, nil},
	} {
		if got := incomplete([]*view.Pod{c.pod}, c.unanswered, c.visible); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
