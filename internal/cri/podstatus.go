package cri

import (
	"context"
	"errors"
	"slices"

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
	st, err := c.podStatus(ctx, p, readAllOrFail)
	if err != nil {
		return nil, err
	}
	return st, nil
}

// PartialStatus is like PodStatus, for interactive commands: it returns what could be read within
// ReadEachTimeout, and the first error of the other reads.
func (c *Client) PartialStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error) {
	return c.podStatus(ctx, p, readAvailable)
}

// readStrategy makes n reads. It returns the errors of failed reads that it tolerates, or err.
type readStrategy func(ctx context.Context, n int, read func(ctx context.Context, i int) error) (failed []error, err error)

// readAllOrFail is the readStrategy that fails with the first error.
func readAllOrFail(ctx context.Context, n int, read func(ctx context.Context, i int) error) ([]error, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range n {
		g.Go(func() error { return read(ctx, i) })
	}
	return nil, g.Wait()
}

// readAvailable is the readStrategy that tolerates errors and reads that hang.
func readAvailable(ctx context.Context, n int, read func(ctx context.Context, i int) error) ([]error, error) {
	return ReadEach(ctx, n, read), nil
}

// podStatus reads the statuses. The error is the first one that the readStrategy returned or
// tolerated.
func (c *Client) podStatus(ctx context.Context, p *pod.Pod, read readStrategy) (*pod.Status, error) {
	st := &pod.Status{UID: p.UID, Name: p.Name, Namespace: p.Namespace, At: c.now()}
	// A runtime whose sandboxes told of their containers is asked for those
	// first, any other for all at once.
	var sandboxes []*runtimeapi.PodSandboxStatusResponse
	var asked []*pod.ContainerStatus
	var unreadSandboxes, unreadContainers []error
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		sandboxes, unreadSandboxes, err = c.sandboxStatuses(gctx, p, read)
		return err
	})
	atOnce := !c.tells.Load()
	if atOnce {
		g.Go(func() (err error) {
			asked, unreadContainers, err = c.containerStatuses(gctx, p.Containers, read)
			return err
		})
	}
	if err := g.Wait(); err != nil {
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
	c.tells.Store(len(told) > 0)
	if !atOnce {
		var err error
		if asked, unreadContainers, err = c.containerStatuses(ctx, untold(p.Containers, told), read); err != nil {
			return nil, err
		}
	}
	for _, cs := range asked {
		if cs != nil && !told[cs.SandboxID] {
			containers[cs.ID] = cs
		}
	}
	for _, cs := range containers {
		st.Containers = append(st.Containers, cs)
	}
	newestFirst(st.Containers, func(c *pod.ContainerStatus) made { return made{c.Name, c.Attempt, c.CreatedAt, c.ID} })
	for _, err := range slices.Concat(unreadContainers, unreadSandboxes) {
		if err != nil {
			return st, err
		}
	}
	return st, nil
}

// sandboxStatuses returns statuses in the order of p.Sandboxes, nil for one that is gone or was not
// read.
func (c *Client) sandboxStatuses(ctx context.Context, p *pod.Pod, each readStrategy) ([]*runtimeapi.PodSandboxStatusResponse, []error, error) {
	answers := make([]*runtimeapi.PodSandboxStatusResponse, len(p.Sandboxes))
	unread, err := each(ctx, len(p.Sandboxes), func(ctx context.Context, i int) error {
		r, err := c.sandboxStatus(ctx, p.Sandboxes[i].ID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		answers[i] = r
		return err
	})
	return answers, unread, err
}

// untold are the containers of which no sandbox told.
func untold(containers []*pod.Container, told map[string]bool) []*pod.Container {
	return slices.DeleteFunc(slices.Clone(containers), func(c *pod.Container) bool { return told[c.SandboxID] })
}

// containerStatuses returns statuses in the order of the containers, nil for one that is gone or
// was not read.
func (c *Client) containerStatuses(ctx context.Context, containers []*pod.Container, each readStrategy) ([]*pod.ContainerStatus, []error, error) {
	answers := make([]*pod.ContainerStatus, len(containers))
	unread, err := each(ctx, len(containers), func(ctx context.Context, i int) error {
		cs, err := c.ContainerStatus(ctx, containers[i].ID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		cs.SandboxID = containers[i].SandboxID
		answers[i] = cs
		return nil
	})
	return answers, unread, err
}
