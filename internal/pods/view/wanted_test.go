package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
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
	pods := []*Pod{
		{Metadata: Metadata{Namespace: "default", Name: "waits"}, Object: spec("r.io/other", "r.io/app:1")},
		{Metadata: Metadata{Namespace: "default", Name: "restarts"}, Object: spec("r.io/app:2"), Runtime: listed(pod.Exited)},
		{Metadata: Metadata{Namespace: "default", Name: "runs"}, Object: spec("r.io/app:1"), Runtime: listed(pod.Running)},
		{Metadata: Metadata{Namespace: "default", Name: "not-known"}},
		{Metadata: Metadata{Namespace: "default", Name: "mounts"}, Object: volume},
		{Metadata: Metadata{Namespace: "default", Name: "ended"}, Object: ended},
		{Metadata: Metadata{Namespace: "default", Name: "initial"}, Object: initial},
	}
	want := []images.Use{
		{Namespace: "default", Pod: "initial", Container: "a"},
		{Namespace: "default", Pod: "mounts", Volume: true},
		{Namespace: "default", Pod: "restarts", Container: "a"},
		{Namespace: "default", Pod: "waits", Container: "b"},
	}
	if diff := cmp.Diff(want, WantedBy(pulls.Pull{Repositories: []string{"r.io/app"}}, pods)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
