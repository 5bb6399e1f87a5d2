package podsync

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// restartsAfter reports whether a container that exited with this code
// restarts: its own rules first, then its own policy, then the pod's
// (ContainerShouldRestart in pkg/api/v1/pod/util.go).
func restartsAfter(c *v1.Container, spec *v1.PodSpec, exitCode int32) bool {
	if c.RestartPolicy == nil {
		return policyRestarts(spec.RestartPolicy, exitCode)
	}
	if rule := matchingRule(c, exitCode); rule != nil {
		switch rule.Action {
		case v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers:
			return true
		}
	}
	return policyRestarts(v1.RestartPolicy(*c.RestartPolicy), exitCode)
}

func policyRestarts(policy v1.RestartPolicy, exitCode int32) bool {
	switch policy {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return exitCode != 0
	default:
		return true
	}
}

// matchingRule returns the first restart rule that matches this exit code, nil
// if none does.
func matchingRule(c *v1.Container, exitCode int32) *v1.ContainerRestartRule {
	for i := range c.RestartPolicyRules {
		rule := &c.RestartPolicyRules[i]
		if rule.ExitCodes == nil {
			continue
		}
		listed := slices.Contains(rule.ExitCodes.Values, exitCode)
		switch rule.ExitCodes.Operator {
		case v1.ContainerRestartRuleOnExitCodesOpIn:
			if listed {
				return rule
			}
		case v1.ContainerRestartRuleOnExitCodesOpNotIn:
			if !listed {
				return rule
			}
		}
	}
	return nil
}

// restartsIfKilled reports whether a container that podctl itself kills
// restarts. Its rules do not apply: it has no exit code yet.
func restartsIfKilled(c *v1.Container, spec *v1.PodSpec) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy != v1.ContainerRestartPolicyNever
	}
	return spec.RestartPolicy != v1.RestartPolicyNever
}

// mustStart reports whether the container should be started now: it never was,
// or it is not running and its policy says so. A container that was created
// and not started counts as one to restart, and so does one whose state
// the runtime has lost (ShouldContainerBeRestarted in
// pkg/kubelet/container/helpers.go).
func mustStart(p *v1.Pod, c *v1.Container, st *pod.Status) bool {
	if p.DeletionTimestamp != nil {
		return false
	}
	last := st.Container(c.Name)
	if last == nil {
		return true
	}
	switch last.State {
	case pod.Running:
		return false
	case pod.Exited:
		return restartsAfter(c, &p.Spec, last.ExitCode)
	default:
		return true
	}
}

// runsOnce reports whether a success of the container is final.
func runsOnce(c *v1.Container, spec *v1.PodSpec) bool {
	if c.RestartPolicy != nil {
		return *c.RestartPolicy == v1.ContainerRestartPolicyOnFailure
	}
	return spec.RestartPolicy == v1.RestartPolicyOnFailure
}

// succeeded reports whether the container's last run exited with 0.
func succeeded(c *v1.Container, st *pod.Status) bool {
	last := st.Container(c.Name)
	return last != nil && last.State == pod.Exited && last.ExitCode == 0
}

// anyRegularCreated reports whether a regular container was ever created: then
// every init container has completed.
func anyRegularCreated(p *v1.Pod, st *pod.Status) bool {
	for i := range p.Spec.Containers {
		if last := st.Container(p.Spec.Containers[i].Name); last != nil && last.State != pod.Unknown {
			return true
		}
	}
	return false
}
