package podsync

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// normal sends an event in the kubelet's words.
func (s *Syncer) normal(p *v1.Pod, container, reason, format string, args ...any) {
	s.opt.Host.Event(p, event.Event{Container: container, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// warn sends a warning in the kubelet's words.
func (s *Syncer) warn(p *v1.Pod, container, reason, format string, args ...any) {
	s.opt.Host.Event(p, event.Event{Container: container, Warning: true, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// failed sends a warning about a step of an operation that failed in a layer, unless the
// operation was interrupted.
func (s *Syncer) failed(ctx context.Context, p *v1.Pod, reason, op string, layer event.Layer, err error, format string, args ...any) {
	if ctx.Err() != nil {
		return
	}
	s.opt.Host.Event(p, event.Event{
		Warning: true, Reason: reason, Message: fmt.Sprintf(format, args...),
		Failure: &event.Failure{Op: op, Layer: layer, Text: err.Error()},
	})
}

// unstarted sends an event about a start that failed: e has its reason and
// what else is known, w why the container waits now. The message is the
// kubelet's.
func (s *Syncer) unstarted(p *v1.Pod, e event.Event, w event.ContainerWait, format string, args ...any) {
	e.Message, e.Waiting = fmt.Sprintf(format, args...), &w
	e.Warning = e.Reason != event.BackOff || w.Reason != reasonImagePullBackOff // as the kubelet has it
	s.opt.Host.Event(p, e)
}

// The operations that podsync's failures name, as the worker calls them.
const (
	opSync      = "sync"
	opTerminate = "terminate"
	opCleanup   = "cleanup"
)

// replaceID replaces a container's id in a text by its name: ids change from run
// to run, and equal events should look equal.
func replaceID(message, id, name string) string {
	if id == "" {
		return message
	}
	return strings.ReplaceAll(message, id, name)
}

// podRef returns a pod in the kubelet's messages: name_namespace(uid).
func podRef(p *v1.Pod) string {
	return pod.FullNameOf(p) + "(" + string(p.UID) + ")"
}
