package restart

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// pollPeriod is how often the runtime is asked for the next attempt.
const pollPeriod = 100 * time.Millisecond

// await waits until another attempt than the old one of a result has started, and completes
// the result. object returns the pod as its owner shows it, for the reason why none came; nil
// if that is not known.
func (r *Restarter) await(ctx context.Context, p *view.Pod, res *Result, begin time.Time, limit time.Duration, object func() *v1.Pod) error {
	if !r.Wait {
		return nil
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	ticks := time.NewTicker(pollPeriod)
	defer ticks.Stop()
	for {
		now, err := r.Client.ListPod(ctx, p.DistinctUID())
		if err == nil && now == nil {
			err = errors.New("its pod is gone")
		}
		if err != nil {
			return err
		}
		if c := newestAttempt(now, res.Container); c != nil && c.ID != res.Old.ID && (c.State == pod.Running || c.State == pod.Exited) {
			next := attemptOf(c)
			res.Took = time.Since(begin)
			res.Old.ExitCode, next.ExitCode = r.exitCode(ctx, res.Old.ID), r.exitCode(ctx, c.ID)
			res.Next = &next
			return nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return hint.Errorf("podctl describe "+p.CLIName(), "attempt %d was not followed by another within %s: %s", res.Old.Number, limit, lastSeen(object(), res.Container))
		}
	}
}

// exitCode returns the exit code of a container, nil if it runs or is not known any more.
func (r *Restarter) exitCode(ctx context.Context, id string) *int32 {
	if id == "" {
		return nil
	}
	st, err := r.Client.ContainerStatus(ctx, id)
	if err != nil || st.State != pod.Exited {
		return nil
	}
	return &st.ExitCode
}

// lastSeen says in which state the owner of a pod shows a container.
func lastSeen(p *v1.Pod, name string) string {
	if p == nil {
		return "its owner does not say why"
	}
	for _, s := range pod.Statuses(&p.Status) {
		switch {
		case s.Name != name:
		case s.State.Waiting != nil && s.State.Waiting.Message != "":
			return s.State.Waiting.Reason + ": " + s.State.Waiting.Message
		case s.State.Waiting != nil:
			return "it waits: " + s.State.Waiting.Reason
		case s.State.Running != nil:
			return "it runs"
		case s.State.Terminated != nil:
			return fmt.Sprintf("it exited with code %d", s.State.Terminated.ExitCode)
		}
	}
	return "its owner does not show it"
}
