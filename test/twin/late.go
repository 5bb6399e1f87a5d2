package twin

import (
	"fmt"
	"slices"
	"time"
)

// Late is how much later podctl took the steps of a class than the kubelet did.
type Late struct {
	Class         string
	N             int
	Median        time.Duration
	First, Latest time.Duration
}

// punctual are the classes whose steps follow at once, or after a time that the pod names;
// those that a back-off or a restart of the node comes before vary by seconds.
var punctual = []string{
	"RunPodSandbox after act", "CreateContainer after RunPodSandbox", "CreateContainer after PullImage", "CreateContainer after exit", "StartContainer after CreateContainer",
	"PullImage after RunPodSandbox", "ExecSync after StartContainer", "ExecSync after act", "StopContainer after act", "StopContainer after ExecSync", "StopContainer after probe",
	"StopPodSandbox after StopContainer",
}

// Lateness sums up the delays by class.
func (c *Comparison) Lateness() []Late {
	classes := map[string][]time.Duration{}
	for _, d := range c.Delays {
		classes[d.Class] = append(classes[d.Class], d.Podctl-d.Kubelet)
	}
	var all []Late
	for class, late := range classes {
		slices.Sort(late)
		all = append(all, Late{class, len(late), late[len(late)/2], late[0], late[len(late)-1]})
	}
	slices.SortFunc(all, func(a, b Late) int { return b.N - a.N })
	return all
}

// Systematic are the classes in which podctl as a whole is later than the kubelet, or
// earlier by more than the second that a kubelet's relist costs.
func (c *Comparison) Systematic() []string {
	var all []string
	for _, l := range c.Lateness() {
		if slices.Contains(punctual, l.Class) && l.N >= 5 && (l.Median > 500*time.Millisecond || l.Median < -1500*time.Millisecond) {
			all = append(all, fmt.Sprintf("%s: %d times, the median %s later", l.Class, l.N, l.Median.Round(time.Millisecond)))
		}
	}
	return all
}
