package cri

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// ListPods lists everything the runtime holds, as pods, newest first: one list
// of sandboxes and one of containers, in this order, so that no container is
// seen without the sandbox that it was made in.
func (c *Client) ListPods(ctx context.Context) ([]*pod.Pod, error) {
	created := c.changes.createdFor("", c.now())
	sandboxes, sv, err := c.listSandboxes(ctx)
	if err != nil {
		return nil, err
	}
	containers, cv, err := c.listContainers(ctx, sandboxes)
	if err != nil {
		return nil, err
	}
	l, same, err := c.withOwnChanges(ctx, created, lists{sandboxes, containers})
	if err != nil {
		return nil, err
	}
	if !same {
		pods, _ := groupAll(l.sandboxes, l.containers, c.own)
		return pods, nil
	}
	return c.grouped.podsOf([2]uint64{sv, cv}, func() (pods, strays []*pod.Pod) { return groupAll(sandboxes, containers, c.own) }), nil
}

// Strays returns the containers that the last ListPods, of any caller, found in no pod:
// those without a UID label in a sandbox that has one, as crictl creates them in a pod of
// a kubelet's. Each is in a pod of its own without a UID, by the name of its sandbox.
func (c *Client) Strays() []*pod.Pod {
	c.grouped.mu.Lock()
	defer c.grouped.mu.Unlock()
	return slices.Clone(c.grouped.strays)
}

func (c *Client) listSandboxes(ctx context.Context) ([]sandboxEntry, uint64, error) {
	return list(ctx, c.conn, sandboxListSpec, c.sandboxes)
}

// listContainers lists the containers, in the sandboxes that were listed before.
func (c *Client) listContainers(ctx context.Context, sandboxes []sandboxEntry) ([]containerEntry, uint64, error) {
	return list(ctx, c.conn, containerListSpec(sandboxes), c.containers)
}

// grouped keeps the pods and strays of the last lists while the lists stay the same. The
// zero value has none.
type grouped struct {
	mu           sync.Mutex
	versions     [2]uint64
	pods, strays []*pod.Pod
}

// podsOf returns the pods of the lists of these versions. The caller owns the slice.
func (g *grouped) podsOf(versions [2]uint64, group func() (pods, strays []*pod.Pod)) []*pod.Pod {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pods == nil || g.versions != versions {
		g.versions = versions
		g.pods, g.strays = group()
	}
	return slices.Clone(g.pods)
}

// groupAll is groupPods of a list of everything.
func groupAll(sandboxes []sandboxEntry, containers []containerEntry, own *ownSandboxes) (pods, strays []*pod.Pod) {
	own.recordList(sandboxes, containers)
	return groupPods(sandboxes, containers, own)
}

// ListPod lists one pod; nil, nil if the runtime holds nothing of it. It asks
// by the UID label. That is the whole pod if it finds sandboxes, all with labels of
// their creators, and no container outside of them. Else it looks through everything, as
// ListPods does: what was created by hand has no labels, and a container of podctl
// debug in its sandbox has one. By its SeparateUID a pod is found also where ListPods
// lists it with the UID that its creator gave it.
func (c *Client) ListPod(ctx context.Context, uid types.UID) (*pod.Pod, error) {
	own, label := c.own, uid
	given, separate := pod.CutSeparateUID(uid)
	if separate {
		label = given
		if own == nil {
			own = newOwnSandboxes()
		}
	}
	labelled, whole, err := c.listLabelled(ctx, label, uid, own)
	if err != nil || whole {
		return labelled, err
	}
	created := c.changes.createdFor(uid, c.now())
	sandboxes, _, err := c.listSandboxes(ctx)
	if err != nil {
		return nil, err
	}
	isOf := func(s sandboxEntry) bool { return s.uid == uid || separate && s.separate().uid == uid }
	if labelled == nil && len(created) == 0 && !slices.ContainsFunc(sandboxes, isOf) {
		return nil, nil
	}
	containers, _, err := c.listContainers(ctx, sandboxes)
	if err != nil {
		return nil, err
	}
	l, _, err := c.withOwnChanges(ctx, created, lists{sandboxes, containers})
	if err != nil {
		return nil, err
	}
	pods, _ := groupAll(l.sandboxes, l.containers, own)
	return find(pods, uid), nil
}

// listLabelled lists a pod by a UID label. whole reports whether that is the whole pod,
// and nothing of another one.
func (c *Client) listLabelled(ctx context.Context, label, uid types.UID, own *ownSandboxes) (p *pod.Pod, whole bool, err error) {
	created, selector := c.changes.createdFor(uid, c.now()), map[string]string{pod.UIDLabel: string(label)}
	sandboxes, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: selector}})
	if err != nil {
		return nil, false, err
	}
	containers, err := c.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: selector}})
	if err != nil {
		return nil, false, err
	}
	ids := map[string]bool{}
	for _, s := range sandboxes.Items {
		ids[s.Id] = true
	}
	l, _, err := c.withOwnChanges(ctx, created, lists{convertAll(sandboxes.Items, toSandboxEntry), convertAll(containers.Containers, toContainerEntry)})
	if err != nil {
		return nil, false, err
	}
	pods, _ := groupPods(l.sandboxes, l.containers, own)
	p = find(pods, uid)
	outside := slices.ContainsFunc(containers.Containers, func(c *runtimeapi.Container) bool { return !ids[c.PodSandboxId] })
	return p, p != nil && len(p.Sandboxes) > 0 && !outside &&
		!slices.ContainsFunc(p.Sandboxes, func(s *pod.Sandbox) bool { return !s.HasUIDLabel() }), nil
}

func convertAll[M, T any](list []M, convert func(M) T) []T {
	all := make([]T, len(list))
	for i, m := range list {
		all[i] = convert(m)
	}
	return all
}

func find(pods []*pod.Pod, uid types.UID) *pod.Pod {
	for _, p := range pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}
