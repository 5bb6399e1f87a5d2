package podlogs

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// What is not started again is not waited for (ShouldContainerBeRestarted in
// pkg/kubelet/container/helpers.go).
func TestWhichContainersAreStartedAgain(t *testing.T) {
	always, never := v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever
	spec := func(policy v1.RestartPolicy) *v1.PodSpec {
		return &v1.PodSpec{
			RestartPolicy:  policy,
			InitContainers: []v1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}},
			Containers:     []v1.Container{{Name: "c"}, {Name: "once", RestartPolicy: &never}, {Name: "rules", RestartPolicy: &never, RestartPolicyRules: []v1.ContainerRestartRule{{}}}},
		}
	}
	for _, c := range []struct {
		policy v1.RestartPolicy
		name   string
		code   int32
		want   bool
	}{
		{v1.RestartPolicyAlways, "c", 0, true}, {v1.RestartPolicyOnFailure, "c", 0, false},
		{v1.RestartPolicyOnFailure, "c", 1, true}, {v1.RestartPolicyNever, "c", 1, false},
		{v1.RestartPolicyAlways, "init", 0, false}, {v1.RestartPolicyAlways, "init", 1, true}, {v1.RestartPolicyNever, "init", 1, false},
		{v1.RestartPolicyNever, "sidecar", 0, true}, {v1.RestartPolicyAlways, "once", 1, false}, {v1.RestartPolicyNever, "rules", 1, true},
		{v1.RestartPolicyAlways, "debugger", 0, true},
	} {
		if got := restarts(spec(c.policy), c.name, c.code); got != c.want {
			t.Errorf("%s, %s that exited %d: %v", c.policy, c.name, c.code, got)
		}
	}
}
