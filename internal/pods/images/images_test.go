package images

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

var (
	busybox = &pod.Image{ID: "sha256:aaa111", RepoTags: []string{"docker.io/library/busybox:latest", "docker.io/library/busybox:1"}}
	team    = &pod.Image{ID: "sha256:bbb222", RepoTags: []string{"r.io:5000/team/app:2"}}
	digest  = &pod.Image{ID: "sha256:aaa333", RepoDigests: []string{"r.io/none@sha256:" + digits}}
	pinned  = &pod.Image{ID: "sha256:ccc444", RepoTags: []string{"pause:1"}, Pinned: true}
)

const digits = "0123456789012345678901234567890123456789012345678901234567890123"

func held() []*pod.Image { return []*pod.Image{team, busybox, digest, pinned} }

func names(all []*Image) (names []string) {
	for _, i := range all {
		names = append(names, i.Name())
	}
	return names
}

func uses(all []*Image) map[string][]string {
	m := map[string][]string{}
	for _, i := range all {
		for _, u := range i.Uses {
			text := u.DisplayName()
			if u.Volume {
				text += " volume"
			}
			m[i.Name()] = append(m[i.Name()], text)
		}
	}
	return m
}

func TestImageUses(t *testing.T) {
	pods := []*pod.Pod{
		{Namespace: "default", Name: "web", Containers: []*pod.Container{
			{ID: "c1", Name: "app", ImageID: busybox.ID, Image: "r.io:5000/team/app:2", State: pod.Running}, // the tag was moved
			{ID: "c0", Name: "old", Image: "docker.io/library/busybox:1", State: pod.Exited},
		}},
		{Namespace: "a", Name: "data", Containers: []*pod.Container{{ID: "c2", Name: "c", ImageID: "sha256:gone"}}},
	}
	all := Join(held(), pods, map[string][]string{"c2": {digest.ID, digest.RepoDigests[0]}})
	AddSpecs(all, []*v1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{Image: "busybox"}}}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "kube", Name: "waits"}, Spec: v1.PodSpec{
			InitContainers: []v1.Container{{Image: "busybox:1"}},
			Volumes:        []v1.Volume{{VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "r.io:5000/team/app:2"}}}},
		}},
	})
	got := uses(all)
	for name, want := range map[string][]string{
		"docker.io/library/busybox:1": {"default/web/app", "default/web/old", "kube/waits"},
		"r.io/none@sha256:" + digits:  {"a/data/c volume"},
		"r.io:5000/team/app:2":        {"kube/waits volume"},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s is used by %q, want %q", name, got[name], want)
		}
	}
	for _, i := range all {
		if i.Unused() {
			t.Errorf("%s is unused", i.Name())
		}
	}
	if all := Join(held(), nil, nil); !all[0].Unused() || all[1].Unused() {
		t.Errorf("without pods: %q", names(all))
	}
}

func TestSelectByNamePatternAndID(t *testing.T) {
	all := Join(held(), nil, nil)
	for word, want := range map[string][]string{
		"busybox":                          {"docker.io/library/busybox:1"},
		"busybox:latest":                   {"docker.io/library/busybox:1"},
		"docker.io/library/busybox:latest": {"docker.io/library/busybox:1"},
		"busybox:2":                        nil,
		"busy*":                            {"docker.io/library/busybox:1"},
		"r.io:5000/team/*":                 {"r.io:5000/team/app:2"},
		"*":                                {"docker.io/library/busybox:1", "pause:1"},
		"sha256:aaa":                       {"docker.io/library/busybox:1", "r.io/none@sha256:" + digits},
		"bbb222":                           {"r.io:5000/team/app:2"},
		"bb":                               nil,
		"r.io/none":                        {"r.io/none@sha256:" + digits},
		"r.io/none@sha256:" + digits:       {"r.io/none@sha256:" + digits},
		"[":                                nil,
		"":                                 nil,
	} {
		found, err := Select(all, []string{word})
		if !slices.Equal(names(found), want) {
			t.Errorf("%q: %q, want %q", word, names(found), want)
		}
		if missing := hint.Of(err) == "podctl images lists them"; missing != (want == nil) {
			t.Errorf("%q: %v", word, err)
		}
	}
}
