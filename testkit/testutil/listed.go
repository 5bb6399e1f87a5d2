package testutil

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Noon is the present of tests that need one.
var Noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// ListedPod is a pod as a runtime lists it, created 90 s before Noon, with the
// kubelet's UID label. owner is the podctl instance that created it, "" for none.
func ListedPod(name, owner string, sandbox pod.State, containers ...pod.State) *pod.Pod {
	uid := types.UID("uid-" + name)
	p := &pod.Pod{UID: uid, Namespace: "default", Name: name, Sandboxes: []*pod.Sandbox{{
		ID: "sandbox-of-" + name, State: sandbox, Owner: owner, CreatedAt: Noon.Add(-90 * time.Second),
		Labels: map[string]string{pod.UIDLabel: string(uid), "app": name},
	}}}
	for i, state := range containers {
		p.Containers = append(p.Containers, &pod.Container{Name: string(rune('a' + i)), State: state, Attempt: uint32(i)})
	}
	return p
}
