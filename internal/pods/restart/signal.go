package restart

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// Signal sends a signal to the first process of each of the containers of a pod, without
// hooks, and whether or not it is started again; to all that run if none is named. With
// Wait, it waits for the next attempts.
func (r *Restarter) Signal(ctx context.Context, p *view.Pod, containers []string, signal syscall.Signal) ([]Result, error) {
	fail := func(err error) ([]Result, error) { return nil, fmt.Errorf("signal %s: %w", p.DisplayName(), err) }
	if err := decideSignal(p.Verdict, r.Force); err != nil {
		return fail(err)
	}
	now, err := r.Client.ListPod(ctx, p.DistinctUID())
	if err == nil && now == nil {
		err = errors.New("the runtime has nothing of it")
	}
	if err == nil {
		containers, err = selectContainers(now, nil, containers)
	}
	if err == nil {
		err = r.checkPIDNamespace()
	}
	if err != nil {
		return fail(err)
	}
	results, errs := make([]Result, len(containers)), make([]error, len(containers))
	for i, name := range containers {
		c := newestAttempt(now, name)
		results[i] = Result{Container: name, Old: attemptOf(c)}
		begin := time.Now()
		if errs[i] = r.signal(ctx, c, signal); errs[i] == nil {
			errs[i] = r.await(ctx, p, &results[i], begin, r.Timeout, func() *v1.Pod { return nil })
		}
	}
	return succeeded("signal", p, results, errs)
}

// checkPIDNamespace returns an error unless the PIDs that the runtime reports are podctl's, too.
func (r *Restarter) checkPIDNamespace() error {
	server := cri.ServerOf(r.Client.Endpoint())
	if server.PID == 0 {
		return errors.New("the process of the runtime is not visible, nor are those of its containers")
	}
	same, err := r.Procs.SamePIDNamespace(server.PID)
	if err == nil && !same {
		err = errors.New("the runtime is in another PID namespace")
	}
	return err
}

func (r *Restarter) signal(ctx context.Context, c *pod.Container, signal syscall.Signal) error {
	if c == nil || c.State != pod.Running {
		return errors.New("it is not running")
	}
	process, err := r.Client.ContainerProcess(ctx, c.ID)
	if err != nil {
		return err
	}
	if process.PID == 0 {
		return errors.New("the runtime does not report its process")
	}
	return r.send(process.PID, c.ID, signal)
}

// checkProcessOf returns why a process is not known to be one of a container, nil if it is: the
// paths of its cgroups have the container's id.
func (r *Restarter) checkProcessOf(pid int, container string) error {
	groups, err := r.Procs.Cgroups(pid)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if strings.Contains(g.Path, container) {
			return nil
		}
	}
	return fmt.Errorf("process %d is in no cgroup of the container", pid)
}
