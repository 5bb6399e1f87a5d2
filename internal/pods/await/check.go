package await

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// Seen is what is known of a pod, and of the container that an Exited condition is
// about.
type Seen struct {
	// Pod is nil if neither the runtime nor a podctl process has it any more.
	Pod *view.Pod
	// Data is the pod as podctl pods -o json prints it and encoding/json reads it.
	Data any
	// Container is nil before it is created. Vanished reports whether it was there and
	// is gone.
	Container *pod.Container
	Vanished  bool
	// Status is the container's if it has exited, nil if it is not known.
	Status *pod.ContainerStatus
}

// Result is whether a condition is met.
type Result struct {
	Met bool
	// Failed reports whether it cannot be met any more.
	Failed bool
	// Last is what was last seen, as text.
	Last string
	// ExitCode is that of an Exited container, nil if it is not known.
	ExitCode *int32
}

// Check compares a condition with what is seen.
func (c Condition) Check(s Seen) Result {
	switch c.Kind {
	case Deleted:
		return deleted(s)
	case Exited:
		return c.exited(s)
	case PodCondition, Path:
	}
	switch {
	case s.Pod == nil:
		return Result{Failed: true, Last: "the pod is gone"}
	case c.Kind == Path:
		return c.pathIs(s.Data)
	}
	r := c.conditionIs(s.Pod)
	if why := endedWhy(s.Pod); why != "" && !r.Met && c.needsRunning() {
		r = Result{Failed: true, Last: why}
	}
	return r
}

// needsRunning reports whether only a pod that runs can have the condition: it is ready.
func (c Condition) needsRunning() bool { return c.isReadiness() && strings.EqualFold(c.Value, "True") }

func (c Condition) isReadiness() bool {
	return strings.EqualFold(c.Name, string(v1.PodReady)) || strings.EqualFold(c.Name, string(v1.ContainersReady))
}

// endedWhy says why the pod will not run again by itself: it was rejected, or has ended; ""
// if that is not known.
func endedWhy(p *view.Pod) string {
	switch {
	case p.Worker.Rejected != "":
		return "the pod was rejected: " + p.Worker.Rejected
	case p.Object != nil && pod.IsTerminal(p.Object.Status.Phase):
		s := p.Object.Status
		known := slices.DeleteFunc([]string{"the pod has ended", string(s.Phase), s.Reason, s.Message}, func(text string) bool { return text == "" })
		return strings.Join(known, ": ")
	}
	return ""
}

func deleted(s Seen) Result {
	if s.Pod == nil || s.Pod.Runtime == nil {
		return Result{Met: true, Last: "the runtime holds nothing of it"}
	}
	r := s.Pod.Runtime
	return Result{Last: fmt.Sprintf("the runtime still has: sandboxes %d, containers %d, running %d", len(r.Sandboxes), len(r.Containers), s.Pod.RunningContainers())}
}

func (c Condition) exited(s Seen) Result {
	switch {
	case s.Vanished:
		return Result{Met: c.Code == nil, Failed: c.Code != nil, Last: "the container is gone, and its exit code with it"}
	case s.Pod == nil:
		return Result{Failed: true, Last: "the pod is gone"}
	case s.Container == nil && endedWhy(s.Pod) != "":
		return Result{Failed: true, Last: endedWhy(s.Pod)}
	case s.Container == nil:
		return Result{Last: "the container is not created"}
	case s.Container.State != pod.Exited || s.Status == nil:
		return Result{Last: "the container is " + s.Container.State.String()}
	}
	code := s.Status.ExitCode
	r := Result{Met: c.Code == nil || *c.Code == code, ExitCode: &code, Last: fmt.Sprintf("it exited %d", code)}
	r.Failed = !r.Met
	return r
}

func (c Condition) pathIs(data any) Result {
	value, err := c.ofPath(data)
	if err != nil {
		return Result{Last: err.Error()}
	}
	return Result{Met: value != "" && (c.Value == "" || c.Value == value), Last: fmt.Sprintf("it is %q", value)}
}

// conditionIs is about the API status where there is one, else about the runtime's
// listing.
func (c Condition) conditionIs(p *view.Pod) Result {
	if p.Object == nil {
		return c.ofListing(p)
	}
	for _, condition := range p.Object.Status.Conditions {
		if strings.EqualFold(string(condition.Type), c.Name) {
			return Result{Met: strings.EqualFold(string(condition.Status), c.Value), Last: conditionText(condition)}
		}
	}
	return Result{Last: fmt.Sprintf("its status has no condition %s", c.Name)}
}

func conditionText(c v1.PodCondition) string {
	text := fmt.Sprintf("%s is %s", c.Type, c.Status)
	switch {
	case c.Reason != "" && c.Message != "":
		text += ": " + c.Reason + ": " + c.Message
	case c.Reason+c.Message != "":
		text += ": " + c.Reason + c.Message
	}
	return text
}

// ofListing is Ready or ContainersReady of a pod whose API status is not known.
func (c Condition) ofListing(p *view.Pod) Result {
	if !c.isReadiness() {
		return Result{Failed: true, Last: fmt.Sprintf("no owner shows the pod's status, so that only Ready is known, not %s", c.Name)}
	}
	value, why := readiness(p)
	return Result{Met: strings.EqualFold(value, c.Value), Last: fmt.Sprintf("Ready is %s: %s", value, why)}
}

func readiness(p *view.Pod) (value, why string) {
	if !p.SandboxReady() {
		return "False", "its sandbox is not ready"
	}
	newest := map[string]*pod.Container{}
	for _, container := range p.Runtime.Containers { // newest first
		if newest[container.Name] == nil {
			newest[container.Name] = container
		}
	}
	running := 0
	for _, container := range newest {
		if container.State == pod.Running {
			running++
		}
	}
	why = fmt.Sprintf("%d of %d containers run", running, len(newest))
	if running == 0 || running < len(newest) {
		return "False", why
	}
	return "True", why
}
