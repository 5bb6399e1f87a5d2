package node

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// keepImmutable is what a source's objects become: of two that succeed each
// other under one name the first stays if it is immutable. The API server
// would refuse the second, and a kubelet does not look at it as long as a pod
// uses the first. It may come once the name was absent.
func keepImmutable(old, next *pod.Objects) *pod.Objects {
	if old == nil || next == nil {
		return next
	}
	kept := *next
	kept.ConfigMaps = keepIf(old.ConfigMaps, next.ConfigMaps, func(c *v1.ConfigMap) *bool { return c.Immutable })
	kept.Secrets = keepIf(old.Secrets, next.Secrets, func(s *v1.Secret) *bool { return s.Immutable })
	return &kept
}

func keepIf[T any](old, next map[types.NamespacedName]*T, immutable func(*T) *bool) map[types.NamespacedName]*T {
	kept := maps.Clone(next)
	for name, before := range old {
		if is := immutable(before); next[name] != nil && is != nil && *is {
			kept[name] = before
		}
	}
	return kept
}

// changedObjects are the names under which other objects are found now.
func changedObjects(before, after *pod.Objects) *objectNames {
	names := &objectNames{
		configMaps: differing(before.ConfigMaps, after.ConfigMaps),
		secrets:    differing(before.Secrets, after.Secrets),
		claims:     differing(before.Claims, after.Claims),
	}
	for claim := range after.Claims {
		if !equality.Semantic.DeepEqual(before.Bindings[claim], after.Bindings[claim]) {
			names.claims[claim] = true
		}
	}
	return names
}

func differing[T any](before, after map[types.NamespacedName]*T) map[types.NamespacedName]bool {
	names := map[types.NamespacedName]bool{}
	for name, o := range after {
		if before[name] != o && !equality.Semantic.DeepEqual(before[name], o) {
			names[name] = true
		}
	}
	for name := range before {
		if after[name] == nil {
			names[name] = true
		}
	}
	return names
}

// objectNames are names of objects.
type objectNames struct{ configMaps, secrets, claims map[types.NamespacedName]bool }

// concerns reports whether the pod refers to any of them.
func (c *objectNames) concerns(p *v1.Pod) bool {
	refs := pod.RefsOf(p)
	among := func(names map[string]bool, changed map[types.NamespacedName]bool) bool {
		for name := range names {
			if changed[types.NamespacedName{Namespace: p.Namespace, Name: name}] {
				return true
			}
		}
		return false
	}
	return among(refs.ConfigMaps, c.configMaps) || among(refs.Secrets, c.secrets) || among(refs.Claims, c.claims)
}

// syncUsersOf syncs the pods that refer to changed objects at once: their volumes are
// updated, and containers that wait for an object start. The kubelet does so at the pod's
// next resync.
func (n *Node) syncUsersOf(c *objectNames) {
	var users []types.UID
	n.pods.mu.Lock()
	for uid, e := range n.pods.entries {
		if n.pods.isActive(e) && c.concerns(e.Pod) {
			users = append(users, uid)
		}
	}
	n.pods.mu.Unlock()
	for _, uid := range users {
		n.syncPod(uid)
	}
}
