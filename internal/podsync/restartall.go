package podsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// A container's restart rule may ask for all of the pod's containers to start
// anew, init containers too, in the sandbox that the pod has. Then every
// container is removed from the runtime, those that asked last: a podctl that
// dies in between finds the one that asked, and goes on.

// The words of a pod whose containers all start anew (pkg/kubelet/kubelet_pods.go,
// pkg/kubelet/status/generate.go).
const (
	reasonRestartAll        = "RestartingAllContainers"
	messageRestartAll       = "The container is removed because RestartAllContainers in place"
	reasonRestartAllBegun   = "RestartAllContainersStarted"
	messageRestartAllBegun  = "container exited with restart policy rule"
	messageRestartAllKilled = "killing"
)

// mayRestartAll tells whether any container of the pod has such a rule.
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

// asksForAll tells whether the container's rules answer that exit code with a
// restart of all containers.
func asksForAll(c *v1.Container, exitCode int32) bool {
	rule := matchingRule(c, exitCode)
	return rule != nil && rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
}

// restartingAll tells whether all containers are to start anew: it was begun,
// or the newest run of one of them asks for it (ShouldAllContainersRestart in
// pkg/kubelet/container/helpers.go).
func restartingAll(p *v1.Pod, st *pod.Status, old *v1.PodStatus) bool {
	if !mayRestartAll(p) {
		return false
	}
	if isRestartingAll(old) {
		return true
	}
	for c := range pod.Containers(p) {
		if last := st.Container(c.Name); last != nil && last.State == pod.Exited && asksForAll(c, last.ExitCode) {
			return true
		}
	}
	return false
}

func isRestartingAll(s *v1.PodStatus) bool {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == v1.AllContainersRestarting {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// allRestarting is the condition of a pod with such a rule
// (GenerateAllContainersRestartingCondition in pkg/kubelet/status/generate.go).
func allRestarting(s *v1.PodStatus, p *v1.Pod, st *pod.Status, restarting bool) v1.PodCondition {
	switch {
	case s.Phase == v1.PodSucceeded:
		return condition(v1.AllContainersRestarting, false, reasonPodCompleted, "")
	case s.Phase == v1.PodFailed:
		return condition(v1.AllContainersRestarting, false, reasonPodFailed, "")
	case !restarting, allGone(p, st):
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

// restartAll is the status of a container that was removed for that: its run
// is over, whatever it was doing.
func restartAll(s, old *v1.ContainerStatus) {
	s.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reasonRestartAll, Message: messageRestartAll}}
	s.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
		Reason: reasonRestartAll, Message: messageRestartAll, ExitCode: exitLost,
	}
	s.RestartCount = old.RestartCount + 1
}

// resets are the runs to remove, in order: regular containers before init
// containers, and those that asked for it after all others
// (getContainersToReset in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func resets(p *v1.Pod, st *pod.Status) []*pod.ContainerStatus {
	var victims, askers []*pod.ContainerStatus
	for _, list := range [][]v1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			for _, cs := range st.Containers {
				switch {
				case cs.Name != list[i].Name:
				case cs.State == pod.Exited && asksForAll(&list[i], cs.ExitCode):
					askers = append(askers, cs)
				default:
					victims = append(victims, cs)
				}
			}
		}
	}
	return append(victims, askers...)
}

// reset removes every container of the pod. Their logs stay until the pod
// goes, and by them the next runs know their attempts.
func (r *run) reset(ctx context.Context) error {
	for _, cs := range resets(r.p, r.st) {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.acted = true
		if cs.State != pod.Exited {
			now := int64(0)
			if err := r.killContainer(ctx, kill{
				p: r.p, m: r.m, id: cs.ID, name: cs.Name, reason: KillRestartAll, message: messageRestartAllKilled, grace: &now,
			}); err != nil {
				return err
			}
		}
		if err := r.opt.Runtime.RemoveContainer(context.WithoutCancel(ctx), cs.ID); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove container %q: %w", cs.Name, err)
		}
		delete(r.m.waiting, cs.Name)
	}
	return nil
}
