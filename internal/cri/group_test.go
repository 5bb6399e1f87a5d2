package cri

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// FuzzGroupPods: whatever a runtime lists, each sandbox is in one pod, each
// container in one at most, and no two pods have one UID.
func FuzzGroupPods(f *testing.F) {
	f.Add("ab", "uv", "ab", int64(1))
	f.Fuzz(func(t *testing.T, labels, metadata, containers string, at int64) {
		var sandboxes []*runtimeapi.PodSandbox
		for i, l := range labels {
			s := &runtimeapi.PodSandbox{Id: "s" + string(rune('a'+i%26)) + string(l), CreatedAt: at * int64(i)}
			if l%2 == 0 {
				s.Labels = map[string]string{pod.UIDLabel: string(l)}
			}
			if i < len(metadata) {
				s.Metadata = &runtimeapi.PodSandboxMetadata{Uid: metadata[i : i+1]}
			}
			sandboxes = append(sandboxes, s)
		}
		var cs []*runtimeapi.Container
		for i, l := range containers {
			c := &runtimeapi.Container{Id: string(rune(i)), CreatedAt: at}
			if l%3 == 0 {
				c.Labels = map[string]string{pod.UIDLabel: string(l)}
			}
			if len(sandboxes) > 0 {
				c.PodSandboxId = sandboxes[i%len(sandboxes)].Id
			}
			cs = append(cs, c)
		}
		seen := map[types.UID]bool{}
		nsandboxes, ncontainers := 0, 0
		for _, p := range groupPods(convertAll(sandboxes, toSandboxEntry), convertAll(cs, toContainerEntry)) {
			if seen[p.UID] || p.UID == "" {
				t.Errorf("UID %q twice, or empty", p.UID)
			}
			seen[p.UID] = true
			nsandboxes += len(p.Sandboxes)
			ncontainers += len(p.Containers)
			for i := 1; i < len(p.Sandboxes); i++ {
				if p.Sandboxes[i].CreatedAt.After(p.Sandboxes[i-1].CreatedAt) {
					t.Error("sandboxes are not newest first")
				}
			}
		}
		if nsandboxes != len(sandboxes) || ncontainers > len(cs) {
			t.Errorf("%d of %d sandboxes, %d of %d containers", nsandboxes, len(sandboxes), ncontainers, len(cs))
		}
	})
}
