package podsync

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// initWalk is one pass over the init containers of the newest sandbox, from the last
// to the first: completed ones may have been removed from the runtime, so the last
// one that is found shows how far the pod is initialized
// (computeInitContainerActions in pkg/kubelet/kuberuntime/kuberuntime_container.go).
type initWalk struct {
	v  *v1.Pod
	st *pod.Status
	in ActionInput
	p  *Plan

	// done: every init container has completed, so that regular
	// containers may start.
	done bool
	// later: a later container shows that the one at hand was initialized
	// before. Then only sidecars are kept running.
	later bool
}

// initContainers plans what the init containers need and reports whether the
// pod is initialized. A failure that is final sets KillPod.
func (p *Plan) initContainers(v *v1.Pod, st *pod.Status, in ActionInput) bool {
	if len(v.Spec.InitContainers) == 0 {
		return true
	}
	w := &initWalk{v: v, st: st, in: in, p: p}
	w.done = hasActiveRegularContainer(v, st)
	w.later = w.done
	for i := range slices.Backward(v.Spec.InitContainers) {
		if !w.visit(i) {
			p.killPod()
			return false
		}
	}
	if !w.later {
		w.start(0)
	}
	slices.Reverse(p.Init)
	return w.done
}

// visit handles one init container. It returns false if the pod has failed.
func (w *initWalk) visit(i int) (ok bool) {
	c := &w.v.Spec.InitContainers[i]
	last := w.st.ActiveContainer(c.Name)
	switch {
	case last == nil:
		if w.later && pod.IsSidecar(c) {
			w.start(i)
		}
		return true
	case w.later && !pod.IsSidecar(c):
		return true
	case pod.IsSidecar(c):
		w.sidecar(i, c, last)
	default:
		if !w.initContainer(i, c, last) {
			return false
		}
	}
	w.later = true
	return true
}

// initContainer handles an init container that runs to completion. It returns
// false if it failed for good.
func (w *initWalk) initContainer(i int, c *v1.Container, last *pod.ContainerStatus) (ok bool) {
	switch last.State {
	case pod.Created:
		// Created and started are one step: the start must have failed.
		w.start(i)
	case pod.Running:
		_, _ = w.p.resize(w.v, c, last, w.in) // validation lets none restart for it
	case pod.Exited:
		if last.ExitCode == 0 && last.Reason != reasonOOMKilled {
			w.initialized(i)
			return true
		}
		if !mustStart(w.v, c, w.st) {
			return false
		}
		w.start(i)
	default:
		if !restartsIfKilled(c, &w.v.Spec) {
			return false
		}
		w.p.killIfUnknown("Init container", last)
		w.start(i)
	}
	return true
}

// initialized records that the i-th init container has completed: the next
// one may start, or the regular containers.
func (w *initWalk) initialized(i int) {
	if i == len(w.v.Spec.InitContainers)-1 {
		w.done = true
	} else if !w.later {
		w.start(i + 1)
	}
}

func (w *initWalk) start(i int) {
	w.p.Init = append(w.p.Init, w.in.start(w.v, &w.v.Spec.InitContainers[i], w.st))
}

// allInit returns the containers to remove before a new sandbox: every run of
// every init container (purgeInitContainers).
func allInit(p *v1.Pod, st *pod.Status) []string {
	var ids []string
	for _, cs := range st.Containers {
		if isInit(p, cs.Name) {
			ids = append(ids, cs.ID)
		}
	}
	return ids
}

// surplusInit returns the dead runs of init containers but for the last of each
// (pruneInitContainersBeforeStart).
func surplusInit(p *v1.Pod, st *pod.Status) []string {
	var ids []string
	kept := map[string]bool{}
	for _, cs := range st.Containers {
		if !isInit(p, cs.Name) || (cs.State != pod.Exited && cs.State != pod.Unknown) {
			continue
		}
		if kept[cs.Name] {
			ids = append(ids, cs.ID)
		}
		kept[cs.Name] = true
	}
	return ids
}

func isInit(p *v1.Pod, name string) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c v1.Container) bool { return c.Name == name })
}

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
