package podsync

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/handler"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// postStart runs the container's postStart hook; a container whose hook fails
// is killed.
func (r *run) postStart(ctx context.Context, c *v1.Container, id string) *StartError {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	r.endTurn()
	ip := r.podIP(r.p, r.ips)
	target := handler.Target{ContainerID: id, Container: c, PodIP: ip, Brief: r.maskOf(r.p.UID).Brief}
	leave := r.enter(pod.StepHook, c.Name, "")
	ran, err := handler.RunHook(ctx, r.opt.Runtime, target, c.Lifecycle.PostStart)
	leave()
	r.fellBack(r.p, ran)
	if err == nil {
		return nil
	}
	failed := &StartError{Container: c.Name, Reason: reasonPostStart, Message: hookMessage(r.p, c, c.Lifecycle.PostStart, ran.Output, err), err: err}
	if ctx.Err() != nil {
		return failed
	}
	r.opt.Host.Event(r.p, event.Event{
		Container: c.Name, Warning: true, Reason: event.FailedPostStartHook, Message: "PostStartHook failed",
		Failure: &event.Failure{Op: opSync, Layer: event.LayerHook, Text: failed.Message},
	})
	if err := r.killContainer(ctx, kill{
		p: r.p, m: r.m, id: id, name: c.Name, ip: ip, reason: KillPostStartFailed, message: string(KillPostStartFailed),
	}); err != nil {
		r.opt.Log.Warn("container of a failed hook stays", "container", c.Name, "uid", r.p.UID, "err", r.maskOf(r.p.UID).Error(err))
	}
	return failed
}

// hookMessage returns what the container's status says of a failed hook: there the
// hook's output may be read by anyone who may read the pod.
func hookMessage(p *v1.Pod, c *v1.Container, h *v1.LifecycleHandler, output []byte, err error) string {
	what := ""
	switch {
	case h.Exec != nil:
		return fmt.Sprintf("Exec lifecycle hook (%v) for Container %q in Pod %q failed - error: %v, message: %q",
			h.Exec.Command, c.Name, podRef(p), err, output)
	case h.HTTPGet != nil:
		what = fmt.Sprintf("HTTP lifecycle hook (%s)", h.HTTPGet.Path)
	case h.Sleep != nil:
		what = fmt.Sprintf("Sleep lifecycle hook (%d)", h.Sleep.Seconds)
	default:
		return fmt.Sprintf("Cannot run handler: %v", err)
	}
	return fmt.Sprintf("%s for Container %q in Pod %q failed - error: %v", what, c.Name, podRef(p), err)
}

// fellBack reports a hook that asked for HTTPS and was answered in HTTP.
func (s *Syncer) fellBack(p *v1.Pod, ran handler.HookResult) {
	if ran.Fallback != "" {
		s.warn(p, "", event.LifecycleHTTPFallback, "request to HTTPS lifecycle hook %s got HTTP response, retry with HTTP succeeded", ran.Fallback)
	}
}

// podIP returns where the pod's hooks reach it: its first address, on the host's
// network the host's, "" if it has none.
func (s *Syncer) podIP(p *v1.Pod, ips []string) string {
	if pod.IsHostNetwork(p) {
		ips = s.opt.Node.IPs
	}
	if len(ips) == 0 {
		return ""
	}
	return ips[0]
}
