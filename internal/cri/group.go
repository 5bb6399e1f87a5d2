package cri

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// identity is whose pod something in the runtime is.
type identity struct {
	uid             types.UID
	name, namespace string
}

// sandboxIdentity reads a sandbox's pod from its labels; where they are
// missing, from its metadata; the UID, at last, from the sandbox's own id.
func sandboxIdentity(id string, labels map[string]string, m *runtimeapi.PodSandboxMetadata) identity {
	return identity{
		uid:       types.UID(cmp.Or(labels[pod.UIDLabel], m.GetUid(), id)),
		name:      cmp.Or(labels[pod.NameLabel], m.GetName()),
		namespace: cmp.Or(labels[pod.NamespaceLabel], m.GetNamespace()),
	}
}

// identityOf reads a container's pod from its labels.
func identityOf(labels map[string]string) identity {
	return identity{types.UID(labels[pod.UIDLabel]), labels[pod.NameLabel], labels[pod.NamespaceLabel]}
}

// groupPods makes pods of the two lists. A container belongs to the pod of
// its UID label; without one, to the pod of its sandbox, if that was given no UID
// label either, and else to none: a kubelet does not see it.
// Pods, and what is in them, are newest first.
func groupPods(sandboxes []sandboxEntry, containers []containerEntry) []*pod.Pod {
	pods := map[types.UID]*pod.Pod{}
	get := func(id identity) *pod.Pod {
		p := pods[id.uid]
		if p == nil {
			p = &pod.Pod{UID: id.uid, Name: id.name, Namespace: id.namespace}
			pods[id.uid] = p
		}
		return p
	}
	unlabelled := map[string]identity{} // by sandbox id
	for _, s := range sandboxes {
		if !s.HasUIDLabel() {
			unlabelled[s.ID] = s.identity
		}
		p := get(s.identity)
		p.Sandboxes = append(p.Sandboxes, s.Sandbox)
	}
	for _, c := range containers {
		id := c.identity
		if id.uid == "" {
			var ok bool
			if id, ok = unlabelled[c.SandboxID]; !ok {
				continue
			}
		}
		p := get(id)
		p.Containers = append(p.Containers, c.Container)
	}
	result := make([]*pod.Pod, 0, len(pods))
	for _, p := range pods {
		sortPod(p)
		result = append(result, p)
	}
	slices.SortFunc(result, func(a, b *pod.Pod) int {
		return cmp.Or(created(b).Compare(created(a)), strings.Compare(string(a.UID), string(b.UID)))
	})
	return result
}

func sortPod(p *pod.Pod) {
	newestFirst(p.Sandboxes, func(s *pod.Sandbox) made { return made{"", s.Attempt, s.CreatedAt, s.ID} })
	newestFirst(p.Containers, func(c *pod.Container) made { return made{c.Name, c.Attempt, c.CreatedAt, c.ID} })
}

// created is when the newest part of the pod was created.
func created(p *pod.Pod) time.Time {
	var t time.Time
	if len(p.Sandboxes) > 0 {
		t = p.Sandboxes[0].CreatedAt
	}
	if len(p.Containers) > 0 && p.Containers[0].CreatedAt.After(t) {
		t = p.Containers[0].CreatedAt
	}
	return t
}
