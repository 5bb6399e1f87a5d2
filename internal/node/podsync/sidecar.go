package podsync

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// sidecar handles an init container that keeps running beside the others. It
// is restarted whenever it is not running, and the containers after it wait
// only for its startup, not for its termination.
func (w *initWalk) sidecar(i int, c *v1.Container, last *pod.ContainerStatus) {
	switch last.State {
	case pod.Created, pod.Exited:
		w.start(i)
	case pod.Running:
		w.runningSidecar(i, c, last)
	default:
		w.p.killIfUnknown("Init container", last)
		w.start(i)
	}
}

func (w *initWalk) runningSidecar(i int, c *v1.Container, last *pod.ContainerStatus) {
	if c.StartupProbe != nil {
		switch w.in.Probes.Startup[last.ID] {
		case pod.ProbeFailure:
			w.restart(i, last, KillStartupProbe, fmt.Sprintf("Init container %s failed startup probe", c.Name))
			return
		case pod.ProbeUnknown:
			if w.in.Requested[last.ID] {
				w.restart(i, last, KillRequested, requestMessage(c))
			}
			return
		case pod.ProbeSuccess:
		}
	}
	w.initialized(i)
	switch {
	case definitionChanged(c, last):
		w.restart(i, last, KillChanged, fmt.Sprintf("Init container %s definition changed", c.Name))
	case c.LivenessProbe != nil && w.in.Probes.Liveness[last.ID] == pod.ProbeFailure:
		w.restart(i, last, KillLivenessProbe, fmt.Sprintf("Init container %s failed liveness probe", c.Name))
	case w.in.Requested[last.ID]:
		w.restart(i, last, KillRequested, requestMessage(c))
	default:
		if kill, restart := w.p.resize(w.v, c, last, w.in); restart {
			w.restart(i, last, kill.Reason, kill.Message)
		}
	}
}

func (w *initWalk) restart(i int, last *pod.ContainerStatus, reason KillReason, message string) {
	w.p.Kill = append(w.p.Kill, Kill{ID: last.ID, Name: last.Name, Reason: reason, Message: message})
	w.start(i)
}
