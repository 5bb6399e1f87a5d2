package main

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod/event"
)

// ownReasons are those of podctl's events that no kubelet sends.
var ownReasons = []string{
	event.SandboxReady, event.FailedUnmount, event.Starting, event.Adopted, event.Running, event.Exited, event.RestartingAllContainers, event.Ready,
	event.NotReady, event.Ended, event.Waiting, event.Terminating, event.Stopped, event.Removed, event.RuntimeDown, event.RuntimeUp,
	event.LogDirectoryFull, event.FailedLogRotation, event.RunDirectoryLost, event.RunDirectoryRestored, event.EventsDropped,
}

// copyEvents sends podctl's events to the API server as a kubelet does, until ctx ends.
func (b *bridge) copyEvents(ctx context.Context) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: b.api.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "kubelet", Host: b.node})
	for ctx.Err() == nil {
		err := b.podctl.Events(ctx, func() {}, func(e control.Event) {
			if e.Lost > 0 {
				b.log.Warn("podctl's events were lost", "count", e.Lost)
			}
			if e.UID == "" || slices.Contains(ownReasons, e.Reason) {
				return
			}
			kind := v1.EventTypeNormal
			if e.Warning {
				kind = v1.EventTypeWarning
			}
			recorder.Event(b.involved(&e), kind, e.Reason, e.Message)
		})
		if err != nil && ctx.Err() == nil {
			b.log.Warn("follow events", "err", err)
			time.Sleep(time.Second)
		}
	}
}

// involved names what an event is about (GenerateContainerRef in pkg/kubelet/container/ref.go).
func (b *bridge) involved(e *control.Event) *v1.ObjectReference {
	ref := &v1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: e.Namespace, Name: e.Name, UID: e.UID}
	if e.Container == "" {
		return ref
	}
	list := "containers"
	b.pods.mu.Lock()
	defer b.pods.mu.Unlock()
	if s := b.pods.all[e.UID]; s != nil {
		switch {
		case slices.ContainsFunc(s.pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == e.Container }):
			list = "initContainers"
		case slices.ContainsFunc(s.pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return c.Name == e.Container }):
			list = "ephemeralContainers"
		}
	}
	ref.FieldPath = "spec." + list + "{" + e.Container + "}"
	return ref
}
