package twin

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Late is how much later podctl took the steps of a class than the kubelet did.
type Late struct {
	Class         string
	N             int
	Median        time.Duration
	First, Latest time.Duration
}

// punctual are the classes whose steps follow at once, or after a time that the pod specifies.
// Steps after a back-off or a restart of the node vary by seconds, and are not among them.
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

// spread is by how much a retry after a back-off varies.
func spread(gap time.Duration) time.Duration { return slack + gap*6/10 }

// spans reports whether the node was killed between the beginning of an attempt and a step.
func spans(s *Side, a *Attempt, step Step, restart time.Duration) bool {
	killed := s.Began.Add(restart)
	return a.Steps[0].At.Before(killed) && step.At.After(killed)
}

func allowed(method string, delay time.Duration) time.Duration {
	if method == "CreateContainer" || method == "RunPodSandbox" || method == "PullImage" { // after a back-off
		return spread(delay)
	}
	return slack
}

// delay is how long after its cause a step came, and what that is: the latest of what happened
// before it to the attempt, to the one before, and to the manifest.
func (p *comparing) delay(s *Side, a *Attempt, i int, before, in *Attempt) (delay time.Duration, after string) {
	step := a.Steps[i]
	var cause time.Time
	note := func(at time.Time, name string) {
		if !at.IsZero() && at.After(cause) && !at.After(step.At) {
			cause, after = at, name
		}
	}
	for _, act := range p.pod.Acts {
		note(s.Began.Add(act.At), "act")
	}
	if p.restart > 0 {
		note(s.Began.Add(p.restart), "restart")
	}
	if before != nil {
		for _, earlier := range before.Steps {
			note(earlier.End, earlier.Method)
		}
		note(before.Exit.At, "exit")
	}
	for _, earlier := range a.Steps[:i] {
		end := earlier.End
		if end.After(step.At) { // a hook that takes longer than the grace period
			end = earlier.At
		}
		note(end, earlier.Method)
	}
	note(a.Exit.At, "exit")
	others := a.Containers // what a sandbox waits for
	if step.Method == "StopContainer" || step.Method == "ExecSync" {
		others = in.Containers // sidecars are stopped in their order, after the others
	}
	for _, c := range others {
		for _, run := range c {
			if run == a {
				continue
			}
			note(run.Exit.At, "exit")
			for _, s := range run.Steps {
				// An answer is on its way, unless the call came at the same time.
				if late := s.End.Sub(step.At); late > 0 && late < 50*time.Millisecond && step.At.Sub(s.At) > 50*time.Millisecond {
					s.End = step.At
				}
				note(s.End, s.Method)
			}
		}
	}
	for _, probe := range a.Probes {
		if i == 0 || a.Steps[i-1].Method != "ExecSync" || step.Method != "StopContainer" || probe.End.Before(a.Steps[i-1].At) {
			note(probe.End, "probe")
		}
	}
	return step.At.Sub(cause), after
}

// longestPeriod is the longest period of a probe in a plan. A kubelet's probes have ticks of their own,
// from when the pod came, or the node: what they stop is stopped at the next one.
const longestPeriod = 6 * time.Second

// sinceAct returns how long after the manifest last changed each step came: what comes at the same
// time is not late, whatever it followed.
func (p *comparing) sinceAct(a, b Step) (kubelet, podctl time.Duration) {
	kubelet, podctl = a.At.Sub(p.kubelet.Began), b.At.Sub(p.podctl.Began)
	last := time.Duration(0)
	for _, act := range p.pod.Acts {
		if act.At < kubelet && act.At < podctl {
			last = act.At
		}
	}
	return kubelet - last, podctl - last
}

// lateAfterOwn reports whether a step came late after the call before it to the same run, too: both may follow that,
// though something else happened meanwhile on one node.
func (p *comparing) lateAfterOwn(a, b *Attempt, i int, class string) bool {
	return i == 0 || p.late(a.Steps[i].At.Sub(a.Steps[i-1].End), b.Steps[i].At.Sub(b.Steps[i-1].End), class)
}

// behindStop reports whether a start waited for another container of the sandbox that the same sync was
// stopping, from about when its cause came.
func behindStop(sandbox, of *Attempt, step Step, delay time.Duration) bool {
	if step.Method != "CreateContainer" && step.Method != "PullImage" {
		return false
	}
	cause := step.At.Add(-delay)
	for _, runs := range sandbox.Containers {
		for _, run := range runs {
			for _, s := range run.Steps {
				if behind := step.At.Sub(s.End); run != of && s.Method == "StopContainer" && s.At.Sub(cause).Abs() < slack && behind >= 0 && behind < slack {
					return true
				}
			}
		}
	}
	return false
}

// apart reports whether two runs began at different times: one may be stopped while the other ends by itself.
func (p *comparing) apart(a, b *Attempt) bool {
	return (a.Steps[0].At.Sub(p.kubelet.Began) - b.Steps[0].At.Sub(p.podctl.Began)).Abs() > slack
}

// behind is how much more a kubelet may be late: it learns of an exit by a relist, waits for another, and both take
// longer than a second on a busy machine.
const behind = 2 * time.Second

// late reports whether one delay is longer than the other by more than the method may vary.
func (p *comparing) late(a, b time.Duration, class string) bool {
	method, after, _ := strings.Cut(class, " after ")
	most := allowed(method, max(a, b))
	if a > b {
		most += behind
	}
	if (method == "StopContainer" || method == "ExecSync") && after != "act" {
		most += longestPeriod
	}
	return (a - b).Abs() > most
}
