package cri

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// parallel is how many status calls of one pod are in flight at once.
const parallel = 8

// PodStatus reads the statuses of what a listing showed of one pod
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, GetPodStatus). What vanished
// since is left out. The IPs are those of the newest sandbox, if it is ready.
//
// At is the time before the first call made here. What appeared between the
// listing and now is missing, so a caller that keeps the status under a time
// must use the time before its listing.
func (c *Client) PodStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error) {
	st := &pod.Status{UID: p.UID, Name: p.Name, Namespace: p.Namespace, At: c.now()}
	sandboxes, err := c.sandboxStatuses(ctx, p)
	if err != nil {
		return nil, err
	}
	containers := map[string]*pod.ContainerStatus{}
	told := map[string]bool{} // sandboxes whose status told all of their containers
	for i, r := range sandboxes {
		if r == nil {
			continue
		}
		s := toSandboxStatus(r.Status)
		st.Sandboxes = append(st.Sandboxes, s)
		if i == 0 && s.State == pod.Running {
			st.IPs = s.IPs
		}
		// Either may be there without the other (containerd 2.0.0 to 2.0.2).
		if r.Timestamp == 0 || len(r.ContainersStatuses) == 0 {
			continue
		}
		told[s.ID] = true
		for _, cs := range r.ContainersStatuses {
			containers[cs.Id] = withTerminationMessage(toContainerStatus(cs, s.ID))
		}
	}
	if err := c.containerStatuses(ctx, p, told, containers); err != nil {
		return nil, err
	}
	for _, cs := range containers {
		st.Containers = append(st.Containers, cs)
	}
	slices.SortFunc(st.Containers, func(a, b *pod.ContainerStatus) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return st, nil
}

// sandboxStatuses answers in the order of p.Sandboxes, nil for what vanished.
func (c *Client) sandboxStatuses(ctx context.Context, p *pod.Pod) ([]*runtimeapi.PodSandboxStatusResponse, error) {
	answers := make([]*runtimeapi.PodSandboxStatusResponse, len(p.Sandboxes))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, s := range p.Sandboxes {
		g.Go(func() error {
			r, err := c.sandboxStatus(ctx, s.ID)
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			answers[i] = r
			return err
		})
	}
	return answers, g.Wait()
}

// containerStatuses adds the containers that no sandbox told of.
func (c *Client) containerStatuses(ctx context.Context, p *pod.Pod, told map[string]bool, into map[string]*pod.ContainerStatus) error {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, ct := range p.Containers {
		if told[ct.SandboxID] {
			continue
		}
		g.Go(func() error {
			cs, err := c.ContainerStatus(ctx, ct.ID)
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			cs.SandboxID = ct.SandboxID
			mu.Lock()
			defer mu.Unlock()
			into[ct.ID] = cs
			return nil
		})
	}
	return g.Wait()
}
