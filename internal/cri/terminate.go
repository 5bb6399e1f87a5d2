package cri

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// TerminateOptions say how a pod is terminated by runtime calls alone: without
// its hooks, which only a podctl that manages it knows.
type TerminateOptions struct {
	// Grace is the grace period of its containers.
	Grace time.Duration
	// Escalate goes on with no grace period where a step fails; Remove also
	// removes the containers and sandboxes.
	Escalate, Remove bool
	// Step is called before each runtime call; DryRun makes no call.
	Step   func(call string)
	DryRun bool
	// Failed, unless nil, is called for each call that failed before the context ended.
	Failed func(call string, err error)
}

// stepTimeout is how long a call may take beyond the grace period before the
// next step is tried.
const stepTimeout = 15 * time.Second

// TerminatePod stops a pod's containers and then its sandboxes by runtime
// calls: StopContainer with the grace period, if that fails with none;
// StopPodSandbox; and RemoveContainer, RemovePodSandbox. What no longer exists
// is no error.
func (c *Client) TerminatePod(ctx context.Context, p *pod.Pod, o TerminateOptions) error {
	failed := map[string][]error{} // of containers, by sandbox
	for _, container := range p.Containers {
		if container.State == pod.Running || container.State == pod.Unknown {
			if err := c.terminateContainer(ctx, container, o); err != nil {
				failed[container.SandboxID] = append(failed[container.SandboxID], err)
			}
		}
	}
	if !o.Escalate && len(failed) > 0 {
		return errors.Join(joined(failed)...)
	}
	var errs []error
	for _, s := range p.Sandboxes {
		if s.State != pod.Running && !o.Escalate {
			continue
		}
		err := o.call(ctx, "StopPodSandbox "+pod.ShortID(s.ID), func(ctx context.Context) error { return c.StopPodSandbox(ctx, s.ID) })
		if err == nil {
			delete(failed, s.ID) // the runtime has stopped its containers with it
		}
		errs = append(errs, err)
	}
	errs = append(joined(failed), errs...)
	if o.Remove {
		return c.removePod(ctx, p, o, errs)
	}
	return errors.Join(errs...)
}

// joined returns the errors of all containers, by id of their sandboxes.
func joined(failed map[string][]error) (errs []error) {
	for _, sandbox := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, failed[sandbox]...)
	}
	return errs
}

func (c *Client) terminateContainer(ctx context.Context, container *pod.Container, o TerminateOptions) error {
	stop := func(grace time.Duration) error {
		call := fmt.Sprintf("StopContainer %s (%s), grace %s", pod.ShortID(container.ID), container.Name, grace)
		return o.callFor(ctx, grace+stepTimeout, call, func(ctx context.Context) error { return c.StopContainer(ctx, container.ID, grace) })
	}
	err := stop(o.Grace)
	if err != nil && o.Escalate && o.Grace > 0 && ctx.Err() == nil {
		err = stop(0)
	}
	return err
}

// removePod removes containers and sandboxes. A removal kills what still runs,
// so that earlier errors count only if it fails.
func (c *Client) removePod(ctx context.Context, p *pod.Pod, o TerminateOptions, earlier []error) error {
	var errs []error
	for _, container := range p.Containers {
		errs = append(errs, o.call(ctx, fmt.Sprintf("RemoveContainer %s (%s)", pod.ShortID(container.ID), container.Name),
			func(ctx context.Context) error { return c.RemoveContainer(ctx, container.ID) }))
	}
	for _, s := range p.Sandboxes {
		errs = append(errs, o.call(ctx, "RemovePodSandbox "+pod.ShortID(s.ID),
			func(ctx context.Context) error { return c.RemovePodSandbox(ctx, s.ID) }))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(append(earlier, err)...)
	}
	return nil
}

func (o TerminateOptions) call(ctx context.Context, name string, call func(context.Context) error) error {
	return o.callFor(ctx, stepTimeout, name, call)
}

func (o TerminateOptions) callFor(ctx context.Context, limit time.Duration, name string, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.Step != nil {
		o.Step(name)
	}
	if o.DryRun {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := call(limited); err != nil && !errors.Is(err, ErrNotFound) {
		if o.Failed != nil && ctx.Err() == nil {
			o.Failed(name, err)
		}
		return err
	}
	return nil
}
