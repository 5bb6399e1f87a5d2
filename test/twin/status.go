package twin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Sample is the status of a pod at a moment.
type Sample struct {
	At     time.Time
	Status v1.PodStatus
}

// Event is an event of a pod or of one of its containers.
type Event struct {
	At                     time.Time
	Pod, Container, Reason string
}

// What lasted for so many samples in one of the two, the other must have shown at all: what
// lies within a period of a probe of a change is not compared.
const lasting = int(longestPeriod/time.Second) + 1

// statuses compares what the nodes said of the pod, of each condition, and of each run of
// each container.
func (p *comparing) statuses() {
	a, b := tracks(p.kubelet.Statuses), tracks(p.podctl.Statuses)
	// What began shortly before the end the other may have had no time for.
	early := func(s *Side) map[string][]run {
		return tracks(slices.DeleteFunc(slices.Clone(s.Statuses), func(x Sample) bool { return s.Ended.Sub(x.At) < takeover }))
	}
	earlyA, earlyB := early(p.kubelet), early(p.podctl)
	for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
		ofPod := name == "the pod" || strings.HasPrefix(name, "condition ")
		if p.isCut(name) || ofPod && (p.sandboxCut || len(p.drifted) > 0) {
			continue
		}
		p.States += len(a[name])
		x, y := a[name], b[name]
		if lacks(p.inTimeOf(p.podctl, name, y, earlyA[name]), y) || lacks(p.inTimeOf(p.kubelet, name, x, earlyB[name]), x) {
			p.add(Difference{What: "status of " + name, Kubelet: show(x), Podctl: show(y), states: [2][]run{x, y}})
		}
	}
}

// inTimeOf returns what a run of a container showed while it was as old as its twin on a node, on which it goes on at
// the end.
func (p *comparing) inTimeOf(s *Side, name string, twin, runs []run) []run {
	if began, _ := runOf(s, "status of "+name); len(twin) == 0 && began != nil && s.Ended.Sub(began.Steps[0].At) < takeover {
		return nil // it was never shown
	}
	if len(s.Statuses) == 0 || len(twin) == 0 {
		return runs
	}
	last := s.Statuses[len(s.Statuses)-1].Status
	if !slices.ContainsFunc(slices.Concat(last.InitContainerStatuses, last.ContainerStatuses), func(c v1.ContainerStatus) bool { return trackOf(c) == name }) {
		return runs
	}
	left := 0
	for _, r := range twin {
		left += r.n
	}
	var kept []run
	for _, r := range runs {
		if r.n = min(r.n, left); r.n > 0 {
			kept = append(kept, r)
		}
		left -= r.n
	}
	return kept
}

// trackOf is the name of the states of a run.
func trackOf(c v1.ContainerStatus) string { return fmt.Sprintf("%s, run %d", c.Name, c.RestartCount) }

// isCut reports whether only one of the nodes had time for some run of the container, or they began
// at other times: its runs have other numbers then.
func (p *comparing) isCut(name string) bool {
	container, _, ofRun := strings.Cut(name, ",")
	return ofRun && (p.drifted[container] || slices.Contains(p.cuts, container))
}

// lacks reports whether b never shows what lasts in a.
func lacks(a, b []run) bool {
	return slices.ContainsFunc(a, func(r run) bool {
		return r.n >= lasting && !slices.ContainsFunc(b, func(o run) bool { return o.state == r.state })
	})
}

func show(runs []run) string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprintf("%s (%d)", r.state, r.n))
	}
	return strings.Join(all, " → ")
}

// run is a state in n samples, one after the other.
type run struct {
	state string
	n     int
}

// tracks are the states of the pod, of its conditions and of each run of its containers.
func tracks(samples []Sample) map[string][]run {
	all := map[string][]run{}
	add := func(name, state string) {
		state = strings.TrimSpace(state)
		if list := all[name]; len(list) > 0 && list[len(list)-1].state == state {
			list[len(list)-1].n++
			return
		}
		all[name] = append(all[name], run{state, 1})
	}
	for _, s := range samples {
		add("the pod", string(s.Status.Phase)+" "+s.Status.Reason)
		for _, c := range s.Status.Conditions {
			add("condition "+string(c.Type), string(c.Status)+" "+c.Reason)
		}
		for _, c := range slices.Concat(s.Status.InitContainerStatuses, s.Status.ContainerStatuses) {
			add(trackOf(c), state(c))
		}
	}
	return all
}

func state(c v1.ContainerStatus) string {
	text := "none"
	switch s := c.State; {
	case s.Waiting != nil:
		text = "waiting " + s.Waiting.Reason
	case s.Running != nil:
		text = "running"
	case s.Terminated != nil:
		text = fmt.Sprintf("terminated %d %s %q", s.Terminated.ExitCode, s.Terminated.Reason, s.Terminated.Message)
	}
	if c.Ready {
		text += " ready"
	}
	if last := c.LastTerminationState.Terminated; last != nil {
		text += fmt.Sprintf(", before %d %s", last.ExitCode, last.Reason)
	}
	return text
}

// comparedReasons are the events that both send.
var comparedReasons = []string{
	"Pulling", "Pulled", "Created", "Started", "Killing", "BackOff", "Failed", "ErrImageNeverPull", "FailedCreatePodSandBox",
	"SandboxChanged", "FailedPostStartHook", "FailedPreStopHook", "Unhealthy", "DeadlineExceeded", "FailedMount",
}

// once are those of which each run of a container has at most one.
var once = []string{"Created", "Started", "Killing", "FailedPostStartHook", "FailedPreStopHook", "FailedCreatePodSandBox", "SandboxChanged", "DeadlineExceeded"}

// events compares the events of the pod and of each container, reason by reason: how often
// they came, and where they repeat at the nodes' own times, whether they came at all.
func (p *comparing) events() {
	a, b := reasons(p.kubelet.Events), reasons(p.podctl.Events)
	for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
		if p.drifted[name] {
			continue
		}
		for _, reason := range comparedReasons {
			x, y := a[name][reason], b[name][reason]
			p.Events += x
			early := max(p.earlyEvents(p.kubelet, name, reason), p.earlyEvents(p.podctl, name, reason))
			spare := len(p.cuts) + max(atTheEnd(p.kubelet, name), atTheEnd(p.podctl, name))
			if reason == "Killing" { // once more where the first kill is broken off
				spare *= 2
				if p.restart > 0 {
					spare++
				}
			}
			if slices.Contains(once, reason) && max(x, y)-min(x, y) > spare || !slices.Contains(once, reason) && min(x, y) == 0 && early > 1+len(p.cuts) {
				p.differ("events "+reason+" of "+name, fmt.Sprint(x), fmt.Sprint(y))
			}
		}
	}
}

// earlyEvents counts the events for a reason that came so early that the other node had time for them, too.
func (p *comparing) earlyEvents(s *Side, name, reason string) int {
	early := slices.DeleteFunc(slices.Clone(s.Events), func(e Event) bool { return s.Ended.Sub(e.At) < takeover })
	return reasons(early)[name][reason]
}

// atTheEnd counts the runs of a container with a call that ended when the recording did, or after that:
// its event is in one of the two only.
func atTheEnd(s *Side, name string) (n int) {
	for _, sandbox := range sandboxes(s.Life) {
		for _, run := range sandbox.Containers[name] {
			if last := run.Steps[len(run.Steps)-1]; s.Ended.Sub(last.End) < slack {
				n++
			}
		}
	}
	return n
}

func reasons(events []Event) map[string]map[string]int {
	all := map[string]map[string]int{}
	for _, e := range events {
		name := e.Container
		if name == "" {
			name = "the pod"
		}
		if all[name] == nil {
			all[name] = map[string]int{}
		}
		all[name][e.Reason]++
	}
	return all
}
