package conform

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
)

// Behaviour is a pod, and what has to be so of it.
type Behaviour struct {
	Name  string
	About string
	// Spec is the pod's spec in YAML, and after --- objects that it refers to. Manifest
	// completes it: containers without a command run the steps that are their arguments.
	Spec string
	// Needs returns why a runtime handler cannot have it, "" if it can; nil is any handler.
	Needs func(cri.Handler) string
	// Until reports whether the pod has come so far that it is asked, and then removed; nil
	// is its end.
	Until func(v1.PodStatus) bool
	// Asks are what is asked then, in this order.
	Asks []Ask
	// Judge checks what was seen.
	Judge func(s *Observation, c *Check)
}

// Ask is a question to a pod that runs. Exactly one of Exec, Port and Stats is set.
type Ask struct {
	Container string
	Exec      []string // steps, run in the container
	Port      int      // whose text is read through a port-forward
	Stats     bool     // CPU and memory of the container, as the runtime reports them
}

// Answer is the answer to an Ask. Err is why there is none.
type Answer struct {
	Stdout, Stderr string
	Code           int
	// CPUNanoseconds and MemoryBytes are those of Stats.
	CPUNanoseconds, MemoryBytes uint64
	Err                         error
}

// All returns all behaviours, family by family.
func All() []Behaviour {
	return slices.Concat(environment, volumes, security, namespaces, resources, lifecycle, streams)
}

// running reports whether all containers of the pod run.
func running(s v1.PodStatus) bool { return s.Phase == v1.PodRunning && allRun(s.ContainerStatuses) }

func allRun(containers []v1.ContainerStatus) bool {
	return !slices.ContainsFunc(containers, func(c v1.ContainerStatus) bool { return c.State.Running == nil })
}

func ready(s v1.PodStatus) bool {
	return slices.ContainsFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

// restarted reports whether the first container runs again.
func restarted(s v1.PodStatus) bool {
	return len(s.ContainerStatuses) > 0 && s.ContainerStatuses[0].RestartCount > 0 && s.ContainerStatuses[0].State.Running != nil
}

// hasExited returns a function that reports whether the container has exited.
func hasExited(name string) func(v1.PodStatus) bool {
	return func(s v1.PodStatus) bool {
		return slices.ContainsFunc(s.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.Name == name && c.State.Terminated != nil })
	}
}
