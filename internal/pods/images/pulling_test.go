package images

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/inventory"
)

func TestWantedByContainersThatDoNotRun(t *testing.T) {
	spec := func(images ...string) *v1.Pod {
		object := &v1.Pod{}
		for n, image := range images {
			object.Spec.Containers = append(object.Spec.Containers, v1.Container{Name: string(rune('a' + n)), Image: image})
		}
		return object
	}
	listed := func(state pod.State) *pod.Pod {
		return &pod.Pod{Containers: []*pod.Container{{Name: "a", State: state}}}
	}
	volume, ended := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "r.io/app:9"}}}}}}, spec("r.io/app")
	ended.Status.Phase = v1.PodSucceeded
	initial := spec("r.io/app:1")
	initial.Spec.InitContainers, initial.Spec.Containers = initial.Spec.Containers, nil
	pods := []*inventory.Pod{
		{Namespace: "default", Name: "waits", Object: spec("r.io/other", "r.io/app:1")},
		{Namespace: "default", Name: "restarts", Object: spec("r.io/app:2"), Runtime: listed(pod.Exited)},
		{Namespace: "default", Name: "runs", Object: spec("r.io/app:1"), Runtime: listed(pod.Running)},
		{Namespace: "default", Name: "not-known"},
		{Namespace: "default", Name: "mounts", Object: volume},
		{Namespace: "default", Name: "ended", Object: ended},
		{Namespace: "default", Name: "initial", Object: initial},
	}
	want := []Use{
		{Namespace: "default", Pod: "initial", Container: "a"},
		{Namespace: "default", Pod: "mounts", Volume: true},
		{Namespace: "default", Pod: "restarts", Container: "a"},
		{Namespace: "default", Pod: "waits", Container: "b"},
	}
	if diff := cmp.Diff(want, WantedBy(pulls.Pull{Repositories: []string{"r.io/app"}}, pods)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProgressText(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	size := func(n uint64) string { return fmt.Sprint(n) }
	transit := func(total int64, idle time.Duration) []pulls.Layer {
		return []pulls.Layer{{Done: 10, Total: 10}, {Done: 5, Total: total, Started: at.Add(-time.Hour), Updated: at.Add(-idle)}}
	}
	for name, test := range map[string]struct {
		layers []pulls.Layer
		want   string
	}{
		"no manifest":    {nil, "reads the manifest"},
		"in flight":      {transit(30, 29*time.Second), "15 of 40, 3/s"},
		"no total":       {transit(0, time.Second), "15, 3/s"},
		"no progress":    {transit(30, 45*time.Second), "15 of 40, no progress for 45s"},
		"all were there": {transit(30, 0)[:1], "unpacks 10"},
	} {
		if got := ProgressText(pulls.Pull{At: at, Layers: test.layers}, 3.4, size); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
