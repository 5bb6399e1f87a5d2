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
	sandboxes, sv, err := c.listSandboxes(ctx)
	if err != nil {
		return nil, err
	}
	containers, cv, err := c.listContainers(ctx)
	if err != nil {
		return nil, err
	}
	return c.grouped.pods([2]uint64{sv, cv}, func() []*pod.Pod { return groupPods(sandboxes, containers) }), nil
}

func (c *Client) listSandboxes(ctx context.Context) ([]sandboxEntry, uint64, error) {
	return list(ctx, c.conn, runtimeapi.RuntimeService_ListPodSandbox_FullMethodName, &runtimeapi.ListPodSandboxRequest{}, c.sandboxes)
}

func (c *Client) listContainers(ctx context.Context) ([]containerEntry, uint64, error) {
	return list(ctx, c.conn, runtimeapi.RuntimeService_ListContainers_FullMethodName, &runtimeapi.ListContainersRequest{}, c.containers)
}

// grouped keeps the pods of the last lists while the lists stay the same. The
// zero value has none.
type grouped struct {
	mu       sync.Mutex
	versions [2]uint64
	last     []*pod.Pod
}

// pods are those of the lists of these versions. The caller owns the slice.
func (g *grouped) pods(versions [2]uint64, group func() []*pod.Pod) []*pod.Pod {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil || g.versions != versions {
		g.versions, g.last = versions, group()
	}
	return slices.Clone(g.last)
}

// ListPod lists one pod; nil, nil if the runtime holds nothing of it. It asks
// by the UID label. That is the whole pod if it finds sandboxes, all with labels of
// their creators, and no container outside of them. Else it looks through everything, as
// ListPods does: what was created by hand has no labels, and a container of podctl
// debug in its sandbox has one.
func (c *Client) ListPod(ctx context.Context, uid types.UID) (*pod.Pod, error) {
	selector := map[string]string{pod.UIDLabel: string(uid)}
	pods, err := c.filtered(ctx,
		&runtimeapi.PodSandboxFilter{LabelSelector: selector},
		&runtimeapi.ContainerFilter{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	labelled := find(pods, uid)
	if labelled != nil && isWhole(labelled) {
		return labelled, nil
	}
	sandboxes, _, err := c.listSandboxes(ctx)
	if err != nil {
		return nil, err
	}
	if labelled == nil && !slices.ContainsFunc(sandboxes, func(s sandboxEntry) bool { return s.uid == uid }) {
		return nil, nil
	}
	containers, _, err := c.listContainers(ctx)
	if err != nil {
		return nil, err
	}
	return find(groupPods(sandboxes, containers), uid), nil
}

// isWhole reports whether what was found by the UID label is the whole pod, and
// nothing of another one.
func isWhole(p *pod.Pod) bool {
	ids := map[string]bool{}
	for _, s := range p.Sandboxes {
		if !s.HasUIDLabel() {
			return false
		}
		ids[s.ID] = true
	}
	return len(ids) > 0 && !slices.ContainsFunc(p.Containers, func(c *pod.Container) bool { return !ids[c.SandboxID] })
}

func (c *Client) filtered(ctx context.Context, sf *runtimeapi.PodSandboxFilter, cf *runtimeapi.ContainerFilter) ([]*pod.Pod, error) {
	sandboxes, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: sf})
	if err != nil {
		return nil, err
	}
	containers, err := c.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: cf})
	if err != nil {
		return nil, err
	}
	return groupPods(convertAll(sandboxes.Items, toSandboxEntry), convertAll(containers.Containers, toContainerEntry)), nil
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
