package node

import (
	"context"
	"errors"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// conf is a pod that is probed, and has a volume of objects that come and go.
func conf(command string) string {
	return strings.Replace(podYAML("conf", command, "terminationGracePeriodSeconds: 2",
		"volumes: [{name: settings, configMap: {name: settings, optional: true}}]"), "command:",
		`volumeMounts: [{name: settings, mountPath: /settings}],
    readinessProbe: {exec: {command: [sh, -c, 'exit 0']}, periodSeconds: 2},
    livenessProbe: {exec: {command: [sh, -c, 'exit 0']}, periodSeconds: 3, timeoutSeconds: 1, failureThreshold: 2}, command:`, 1)
}

// settings are the objects beside the pods, or none.
func (h *history) settings() *pod.Objects {
	n := h.IntN(3)
	h.say("settings %d", n)
	if n == 0 {
		return nil
	}
	m := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"},
		Data:       map[string]string{"a": strings.Repeat("x", n)},
	}
	return &pod.Objects{ConfigMaps: map[types.NamespacedName]*v1.ConfigMap{{Namespace: "default", Name: "settings"}: m}}
}

// order has a pod stopped, started or evicted by name, at the same time as all
// else. What comes of it depends on what the pod is doing; that it comes to an
// end, while podctl lives, does not.
func (h *history) order() {
	name, p := names[h.IntN(len(names))], h.podctl
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	var carryOut func() error
	switch h.IntN(4) {
	case 0:
		h.say("stop %s", name)
		carryOut = func() error { return p.Stop(ctx, "default", name, nil) }
	case 1, 2:
		h.say("start %s", name)
		carryOut = func() error { return p.Start(ctx, "default", name) }
	case 3:
		h.say("evict %s", name)
		carryOut = func() error { return p.evictNamed(ctx, name, event.Eviction{Cause: event.Preempted}) }
	}
	h.orders.Go(func() {
		defer cancel()
		var notRunning *NotRunningError
		switch err := carryOut(); {
		case err == nil, errors.Is(err, ErrNoPod), errors.Is(err, ErrKillTimeout), errors.Is(err, context.DeadlineExceeded):
		case errors.Is(err, ErrNotStopped), errors.As(err, &notRunning):
		default:
			h.t.Error(err)
		}
	})
}
