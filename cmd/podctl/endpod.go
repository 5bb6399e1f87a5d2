package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// endOptions say how a pod is ended by its runtime alone: without its hooks,
// which only a podctl that manages it knows.
type endOptions struct {
	// grace that its containers are given.
	grace time.Duration
	// escalate goes on with less patience where a step fails, remove takes away
	// what is left.
	escalate, remove bool
	// step is told of each call before it is made; dryRun makes none.
	step   func(call string)
	dryRun bool
	// failed, unless nil, is told of those that failed.
	failed func(call string, err error)
}

// stepTimeout is how long a call that ends something may take beyond the grace
// before the next step is tried.
const stepTimeout = 15 * time.Second

// endPod stops a pod's containers, then its sandboxes, by the runtime's calls:
// StopContainer with the grace, then if that fails with none; StopPodSandbox;
// and RemoveContainer, RemovePodSandbox. What has gone meanwhile is no error.
func endPod(ctx context.Context, client *cri.Client, p *pod.Pod, o endOptions) error {
	var errs []error
	for _, c := range p.Containers {
		if c.State == pod.Running || c.State == pod.Unknown {
			errs = append(errs, stopContainer(ctx, client, c, o))
		}
	}
	if !o.escalate {
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	for _, s := range p.Sandboxes {
		if s.State != pod.Running && !o.escalate {
			continue
		}
		err := o.call(ctx, "StopPodSandbox "+idText(s.ID, false), func(ctx context.Context) error { return client.StopPodSandbox(ctx, s.ID) })
		if err == nil {
			errs = nil // that ends the containers, too
		}
		errs = append(errs, err)
	}
	if o.remove {
		return removePod(ctx, client, p, o, errs)
	}
	return errors.Join(errs...)
}

func stopContainer(ctx context.Context, client *cri.Client, c *pod.Container, o endOptions) error {
	stop := func(grace time.Duration) error {
		call := fmt.Sprintf("StopContainer %s (%s), grace %s", idText(c.ID, false), c.Name, grace)
		return o.callFor(ctx, grace+stepTimeout, call, func(ctx context.Context) error { return client.StopContainer(ctx, c.ID, grace) })
	}
	err := stop(o.grace)
	if err != nil && o.escalate && o.grace > 0 && ctx.Err() == nil {
		err = stop(0)
	}
	return err
}

// removePod removes what is left. A removal ends by force what still runs, so
// that earlier errors count only if it fails.
func removePod(ctx context.Context, client *cri.Client, p *pod.Pod, o endOptions, earlier []error) error {
	var errs []error
	for _, c := range p.Containers {
		errs = append(errs, o.call(ctx, fmt.Sprintf("RemoveContainer %s (%s)", idText(c.ID, false), c.Name),
			func(ctx context.Context) error { return client.RemoveContainer(ctx, c.ID) }))
	}
	for _, s := range p.Sandboxes {
		errs = append(errs, o.call(ctx, "RemovePodSandbox "+idText(s.ID, false),
			func(ctx context.Context) error { return client.RemovePodSandbox(ctx, s.ID) }))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(append(earlier, err)...)
	}
	return nil
}

func (o endOptions) call(ctx context.Context, name string, call func(context.Context) error) error {
	return o.callFor(ctx, stepTimeout, name, call)
}

func (o endOptions) callFor(ctx context.Context, limit time.Duration, name string, call func(context.Context) error) error {
	if o.step != nil {
		o.step(name)
	}
	if o.dryRun {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := call(ctx); err != nil && !errors.Is(err, cri.ErrNotFound) {
		if o.failed != nil {
			o.failed(name, err)
		}
		return err
	}
	return nil
}
