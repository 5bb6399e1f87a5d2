package podsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// A container's restart rule may ask for all of the pod's containers to
// restart, init containers too, in the sandbox that the pod has. Every
// container is then removed from the runtime, those that asked last: a podctl
// that exits in between finds the one that asked, and goes on.

// The texts of a pod whose containers all restart (pkg/kubelet/kubelet_pods.go,
// pkg/kubelet/status/generate.go).
const (
	reasonRestartAll        = "RestartingAllContainers"
	messageRestartAll       = "The container is removed because RestartAllContainers in place"
	reasonRestartAllBegun   = "RestartAllContainersStarted"
	messageRestartAllBegun  = "container exited with restart policy rule"
	messageRestartAllKilled = "killing"
)

// mayRestartAll reports whether any container of the pod has such a rule.
func mayRestartAll(p *v1.Pod) bool {
	for c := range pod.Containers(p) {
		for i := range c.RestartPolicyRules {
			if c.RestartPolicyRules[i].Action == v1.ContainerRestartRuleActionRestartAllContainers {
				return true
			}
		}
	}
	return false
}

// asksForAll reports whether the container's rules answer that exit code with
// a restart of all containers.
func asksForAll(c *v1.Container, exitCode int32) bool {
	rule := matchingRule(c, exitCode)
	return rule != nil && rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
}

// RestartsAll reports whether all of the pod's containers are to restart: the
// restart has begun by its status so far, or the newest run of a container
// asks for it, with the exit code that the runtime or that status shows
// (ShouldAllContainersRestart in pkg/kubelet/container/helpers.go).
func RestartsAll(p *v1.Pod, st *pod.Status, old *v1.PodStatus) bool {
	if isRestartingAll(old) {
		return true
	}
	for c := range pod.Containers(p) {
		last := st.Container(c.Name)
		if last == nil || last.State != pod.Exited {
			continue
		}
		if asksForAll(c, last.ExitCode) {
			return true
		}
		if shown := findIn(old, c.Name); shown != nil && shown.State.Terminated != nil && asksForAll(c, shown.State.Terminated.ExitCode) {
			return true
		}
	}
	return false
}

// findIn returns the status of the container, of any kind, nil without one.
func findIn(s *v1.PodStatus, name string) *v1.ContainerStatus {
	return cmp.Or(findStatus(s.ContainerStatuses, name), findStatus(s.InitContainerStatuses, name), findStatus(s.EphemeralContainerStatuses, name))
}

func isRestartingAll(s *v1.PodStatus) bool { return isTrue(s.Conditions, v1.AllContainersRestarting) }

// allRestarting returns the condition of a pod with such a rule
// (GenerateAllContainersRestartingCondition in pkg/kubelet/status/generate.go).
func allRestarting(s *v1.PodStatus, p *v1.Pod, st *pod.Status, old *v1.PodStatus) v1.PodCondition {
	switch {
	case s.Phase == v1.PodSucceeded:
		return condition(v1.AllContainersRestarting, false, reasonPodCompleted, "")
	case s.Phase == v1.PodFailed:
		return condition(v1.AllContainersRestarting, false, reasonPodFailed, "")
	case !RestartsAll(p, st, old), allGone(p, st):
		return condition(v1.AllContainersRestarting, false, "", "")
	}
	return condition(v1.AllContainersRestarting, true, reasonRestartAllBegun, messageRestartAllBegun)
}

func allGone(p *v1.Pod, st *pod.Status) bool {
	for c := range pod.Containers(p) {
		if st.Container(c.Name) != nil {
			return false
		}
	}
	return true
}

// removedForRestart makes s the status of a container that was removed for the
// restart: its run has ended, whatever it was doing.
func removedForRestart(s, old *v1.ContainerStatus) {
	s.State.Terminated = nil
	s.State.Waiting = &v1.ContainerStateWaiting{Reason: reasonRestartAll, Message: messageRestartAll}
	s.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
		Reason: reasonRestartAll, Message: messageRestartAll, ExitCode: exitLost,
	}
	s.RestartCount = old.RestartCount + 1
}

// resets returns the runs to remove, in order: regular containers before init
// containers, and those that asked for it after all others
// (getContainersToReset in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func resets(p *v1.Pod, st *pod.Status) []Reset {
	var victims, askers []Reset
	for _, list := range [][]v1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			for _, cs := range st.Containers {
				switch {
				case cs.Name != list[i].Name:
				case cs.State == pod.Exited && asksForAll(&list[i], cs.ExitCode):
					askers = append(askers, Reset{ID: cs.ID, Name: cs.Name})
				default:
					victims = append(victims, Reset{ID: cs.ID, Name: cs.Name, Kill: cs.State != pod.Exited})
				}
			}
		}
	}
	return append(victims, askers...)
}

// restartAll removes the containers that the plan resets. Their logs stay
// until the pod is removed, and show the next runs their attempts.
func (r *run) restartAll(ctx context.Context) error {
	for _, c := range r.plan.Reset {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.acted = true
		if err := r.reset(ctx, c); err != nil {
			return err
		}
	}
	emptied := *r.st
	emptied.Containers = nil
	r.st = &emptied
	return nil
}

func (r *run) reset(ctx context.Context, c Reset) error {
	if c.Kill {
		now := int64(0)
		if err := r.killContainer(ctx, kill{
			p: r.p, m: r.m, id: c.ID, name: c.Name, reason: KillRestartAll, message: messageRestartAllKilled, grace: &now,
		}); err != nil {
			return err
		}
	}
	if err := r.opt.Runtime.RemoveContainer(context.WithoutCancel(ctx), c.ID); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove container %q: %w", c.Name, err)
	}
	return nil
}
