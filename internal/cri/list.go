package cri

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// ListPods lists everything the runtime holds, as pods, newest first: one list
// of sandboxes and one of containers, in this order, so that no container is
// seen without the sandbox that it was made in.
func (c *Client) ListPods(ctx context.Context) ([]*pod.Pod, error) {
	sandboxes, sv, err := list(ctx, c.conn, runtimeapi.RuntimeService_ListPodSandbox_FullMethodName, &runtimeapi.ListPodSandboxRequest{}, c.sandboxes)
	if err != nil {
		return nil, err
	}
	containers, cv, err := list(ctx, c.conn, runtimeapi.RuntimeService_ListContainers_FullMethodName, &runtimeapi.ListContainersRequest{}, c.containers)
	if err != nil {
		return nil, err
	}
	return c.grouped.pods([2]uint64{sv, cv}, func() []*pod.Pod { return groupPods(sandboxes, containers) }), nil
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
// by the UID label. Only where that finds no sandbox, or one that its creator gave no
// label, it looks through all sandboxes, for those that have the UID in their metadata,
// and lists their containers: what was created by hand has no labels, and a container
// of podctl debug in its sandbox has one.
func (c *Client) ListPod(ctx context.Context, uid types.UID) (*pod.Pod, error) {
	selector := map[string]string{pod.UIDLabel: string(uid)}
	pods, err := c.filtered(ctx,
		&runtimeapi.PodSandboxFilter{LabelSelector: selector},
		&runtimeapi.ContainerFilter{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	labelled := find(pods, uid)
	if labelled != nil && len(labelled.Sandboxes) > 0 && !slices.ContainsFunc(labelled.Sandboxes, unlabelled) {
		return labelled, nil
	}
	p, err := c.listUnlabelled(ctx, uid)
	if p == nil && err == nil {
		p = labelled
	}
	return p, err
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

func unlabelled(s *pod.Sandbox) bool { return !s.HasUIDLabel() }

// listUnlabelled finds a pod whose sandboxes were given no UID label.
func (c *Client) listUnlabelled(ctx context.Context, uid types.UID) (*pod.Pod, error) {
	all, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, err
	}
	var sandboxes []*runtimeapi.PodSandbox
	for _, s := range all.Items {
		if sandboxIdentity(s.Id, s.Labels, s.Metadata).uid == uid {
			sandboxes = append(sandboxes, s)
		}
	}
	parts := make([][]*runtimeapi.Container, len(sandboxes))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, s := range sandboxes {
		g.Go(func() error {
			r, err := c.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{
				Filter: &runtimeapi.ContainerFilter{PodSandboxId: s.Id},
			})
			if err != nil {
				return err
			}
			parts[i] = r.Containers
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var containers []*runtimeapi.Container
	for _, p := range parts {
		containers = append(containers, p...)
	}
	return find(groupPods(convertAll(sandboxes, toSandboxEntry), convertAll(containers, toContainerEntry)), uid), nil
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
