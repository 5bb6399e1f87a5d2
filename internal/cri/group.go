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
	// shared is the SharedUID of a bare pod, else "".
	shared types.UID
	// byID: the UID is the sandbox's id, for want of another one.
	byID bool
}

// separate is the identity of a pod that is none of podctl's, with a UID that no pod of
// podctl's can have.
func (id identity) separate() identity {
	if id.shared == "" && !id.byID {
		id.shared, id.uid = id.uid, pod.SeparateUID(id.uid, id.namespace, id.name)
	}
	return id
}

// sandboxMessage is a PodSandbox or a PodSandboxStatus.
type sandboxMessage interface {
	GetId() string
	GetMetadata() *runtimeapi.PodSandboxMetadata
	GetLabels() map[string]string
	GetAnnotations() map[string]string
}

// sandboxIdentity reads a sandbox's pod from its labels; where they are
// missing, from its metadata; the UID, at last, from the sandbox's own id. It looks at
// nothing but the sandbox.
func sandboxIdentity(m sandboxMessage) identity {
	labels, metadata := m.GetLabels(), m.GetMetadata()
	id := identity{
		uid:       types.UID(cmp.Or(labels[pod.UIDLabel], metadata.GetUid())),
		name:      cmp.Or(labels[pod.NameLabel], metadata.GetName()),
		namespace: cmp.Or(labels[pod.NamespaceLabel], metadata.GetNamespace()),
	}
	switch {
	case id.uid == "":
		id.uid, id.byID = types.UID(m.GetId()), true
	case isBare(m):
		id.uid, id.shared = pod.BareUID(id.uid, id.namespace, id.name), id.uid
	}
	return id
}

// creator is the podctl instance that created the sandbox, "" if podctl did not.
func creator(m sandboxMessage) string {
	return podctlAnnotations(m.GetAnnotations())[pod.OwnerAnnotation]
}

// isBare reports whether neither a kubelet nor podctl created the sandbox, nor one that
// gives the labels of a kubelet: crictl runp, for example.
func isBare(m sandboxMessage) bool {
	s := pod.Sandbox{Labels: m.GetLabels(), Owner: creator(m), Source: m.GetAnnotations()[pod.ConfigSourceAnnotation]}
	return s.Owner == "" && s.Source == "" && !s.HasUIDLabel()
}

// identityOf reads a container's pod from its labels.
func identityOf(labels map[string]string) identity {
	return identity{uid: types.UID(labels[pod.UIDLabel]), name: labels[pod.NameLabel], namespace: labels[pod.NamespaceLabel]}
}

// groupPods makes pods and strays of the two lists. A container belongs to the pod of
// its UID label, that of its sandbox if the sandbox was given no UID label and its
// metadata has that UID; without a label, to the pod of its sandbox, if that was
// given no UID label either, and else to none: it is a stray, which a kubelet does not see.
// Pods, and what is in them, are newest first.
//
// What podctl did not create is in no pod with what it did: see grouping. own are the
// sandboxes that podctl created, as a node has seen them; nil is for a command.
func groupPods(sandboxes []sandboxEntry, containers []containerEntry, own *ownSandboxes) (result, strays []*pod.Pod) {
	g := newGrouping(sandboxes, own)
	pods := map[types.UID]*pod.Pod{}
	get := func(id identity) *pod.Pod {
		p := pods[id.uid]
		if p == nil {
			p = &pod.Pod{UID: id.uid, Name: id.name, Namespace: id.namespace, SharedUID: id.shared}
			pods[id.uid] = p
		}
		return p
	}
	for _, s := range sandboxes {
		p := get(g.ofSandbox(s))
		p.Sandboxes = append(p.Sandboxes, s.Sandbox)
	}
	for _, c := range containers {
		id := g.ofContainer(c)
		if id.uid == "" {
			s := g.sandboxes[c.SandboxID]
			strays = append(strays, &pod.Pod{Name: s.name, Namespace: s.namespace, Containers: []*pod.Container{c.Container}})
			continue
		}
		p := get(id)
		p.Containers = append(p.Containers, c.Container)
	}
	result = make([]*pod.Pod, 0, len(pods))
	for _, p := range pods {
		sortPod(p)
		result = append(result, p)
	}
	slices.SortFunc(result, func(a, b *pod.Pod) int {
		return cmp.Or(created(b).Compare(created(a)), strings.Compare(string(a.UID), string(b.UID)))
	})
	return result, strays
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

// made says of a sandbox or container what tells it from its pod's others: its
// name ("" of sandboxes), attempt, time of creation and id.
type made struct {
	name    string
	attempt uint32
	created time.Time
	id      string
}

// newestFirst sorts what one pod has in the runtime. Of one name the order is
// that of the attempts, which never go back, as a clock does that is set: the
// last run has to be known for the last. Of different names it is that of the
// times of creation.
func newestFirst[T any](all []T, of func(T) made) {
	slices.SortFunc(all, func(x, y T) int {
		a, b := of(x), of(y)
		return cmp.Or(b.created.Compare(a.created), cmp.Compare(b.attempt, a.attempt), strings.Compare(a.id, b.id))
	})
	byName := map[string][]T{}
	for _, x := range all {
		byName[of(x).name] = append(byName[of(x).name], x)
	}
	for _, runs := range byName {
		slices.SortStableFunc(runs, func(x, y T) int { return cmp.Compare(of(y).attempt, of(x).attempt) })
	}
	for i, x := range all {
		name := of(x).name
		all[i], byName[name] = byName[name][0], byName[name][1:]
	}
}
