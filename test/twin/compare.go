package twin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Difference is what the kubelet and podctl did differently.
type Difference struct {
	Pod, What       string
	Kubelet, Podctl string
	// Row is how the row of docs/kubelet-differences.md begins that says so, "" if none does.
	Row string
	// states are what Kubelet and Podctl show, of a status.
	states [2][]run
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s\n  kubelet: %s\n  podctl:  %s", d.Pod, d.What, d.Kubelet, d.Podctl)
}

// Delay is how long after its cause the two nodes took a step.
type Delay struct {
	Class           string // the method, and what it followed
	Kubelet, Podctl time.Duration
	Pod             string
}

// Comparison is all that was compared.
type Comparison struct {
	Pods, Calls, Fields, Probes, States, Events int
	Differences                                 []Difference
	Delays                                      []Delay
	// Cut counts attempts that only one of the two had time for.
	Cut int
	// Drifted counts containers whose runs both nodes began by the rule of the back-off, and not
	// at the same times: from there on their requests are compared, not how many there are.
	Drifted int
}

// Side is what one node did with a pod.
type Side struct {
	Life     *Life
	Statuses []Sample
	Events   []Event
	Ended    time.Time // of the recording
	Began    time.Time
}

// slack is how much later than its twin a step may come: a relist and a sync.
const slack = 2500 * time.Millisecond

// comparing compares one pod.
type comparing struct {
	*Comparison
	pod             Planned
	kubelet, podctl *Side
	restart         time.Duration
	// cuts are the runs of containers, by name and number, that only one had time for.
	cuts []string
	// drifted has the containers whose runs began at other times, and both by the rule.
	drifted map[string]bool
	// right are the runs that began by the rule of the back-off; due is when one after a run has.
	right map[*Attempt]bool
	due   map[*Attempt]time.Time
	// sandboxCut is whether only one had time for the last sandbox.
	sandboxCut bool
	// ahead is how many more runs of a container the kubelet has made in the sandboxes before.
	ahead map[string]int
	// stopTied: a container was stopped by a probe on one node, and because the manifest changed on the other.
	stopTied bool
	// more is how many more runs of the container the kubelet has made, while one is compared.
	more int
	// apartBefore: the container has drifted, and starts by another back-off, while a run of it is compared.
	apartBefore bool
}

// Add compares what the two nodes did with a pod.
func (c *Comparison) Add(pod Planned, restart time.Duration, kubelet, podctl *Side) {
	c.Pods++
	p := &comparing{Comparison: c, pod: pod, kubelet: kubelet, podctl: podctl, restart: restart,
		drifted: map[string]bool{}, right: map[*Attempt]bool{}, due: map[*Attempt]time.Time{}, ahead: map[string]int{}}
	if restart > 0 {
		for _, s := range []*Side{kubelet, podctl} {
			if s.Life != nil {
				s.Life.Sandboxes = withoutBroken(s.Life.Sandboxes, s.Began.Add(restart))
			}
		}
	}
	p.lives()
	p.statuses()
	p.events()
	p.Cut += len(p.cuts)
	p.Drifted += len(p.drifted)
}

// withoutBroken returns the attempts without the calls that the kill of the node interrupted, and without those of
// which no RunPodSandbox or CreateContainer is left.
func withoutBroken(attempts []*Attempt, killed time.Time) []*Attempt {
	return slices.DeleteFunc(attempts, func(a *Attempt) bool {
		a.Steps = slices.DeleteFunc(a.Steps, func(s Step) bool {
			return (s.Code == "Unavailable" || s.Code == "Canceled") && s.At.Before(killed.Add(time.Second)) && s.End.After(killed.Add(-tie))
		})
		for name, runs := range a.Containers {
			a.Containers[name] = withoutBroken(runs, killed)
		}
		return !slices.ContainsFunc(a.Steps, func(s Step) bool { return s.Method == "CreateContainer" || s.Method == "RunPodSandbox" })
	})
}

func (p *comparing) differ(what, kubelet, podctl string) {
	p.add(Difference{What: what, Kubelet: kubelet, Podctl: podctl})
}

func (p *comparing) add(d Difference) {
	d.Pod, d.Row = p.pod.Name, p.rowOf(d)
	p.Differences = append(p.Differences, d)
}

func (p *comparing) lives() {
	a, b := sandboxes(p.kubelet.Life), sandboxes(p.podctl.Life)
	for i := range max(len(a), len(b)) {
		what := fmt.Sprintf("sandbox %d", i)
		if i >= len(a) || i >= len(b) {
			if !p.cutSandbox(i, a, b) {
				p.oneMore(what, a, b, i)
			}
			return
		}
		if p.restartBetweenSandboxes(a[i], b[i]) {
			for name := range union(a[i].Containers, b[i].Containers) {
				p.drifted[name] = true
			}
		} else {
			p.steps(what, a[i], b[i], at(a, i-1), at(b, i-1), a[i], b[i])
		}
		for _, name := range slices.Sorted(maps.Keys(union(a[i].Containers, b[i].Containers))) {
			p.attempts(what+" "+name, name, a[i].Containers[name], b[i].Containers[name], a[i], b[i])
		}
		p.order(what, a[i], b[i])
	}
}

func sandboxes(l *Life) []*Attempt {
	if l == nil {
		return nil
	}
	return l.Sandboxes
}

func at(list []*Attempt, i int) *Attempt {
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

func union[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return all
}

// attempts compares the runs of a container, one after the other. The nodes that start
// again have forgotten the back-off: what they start then is compared from there on.
func (p *comparing) attempts(what, name string, a, b []*Attempt, inA, inB *Attempt) {
	early := func(s *Side, list []*Attempt) []*Attempt {
		killed := s.Began.Add(p.restart)
		if i := slices.IndexFunc(list, func(x *Attempt) bool { return p.restart > 0 && x.Steps[0].At.After(killed) }); i >= 0 {
			return list[:i]
		}
		return list
	}
	i, j := len(early(p.kubelet, a)), len(early(p.podctl, b))
	p.judge(a[:i], false)
	p.judge(b[:j], false)
	p.judge(a[max(0, i-1):], i > 0 && p.restart > 0)
	p.judge(b[max(0, j-1):], j > 0 && p.restart > 0)
	if p.restartBetween(a[:i], b[:j]) {
		p.drifted[name] = true
	}
	if firstRun(a) && firstRun(b) { // of another pod, or of the same that was removed meanwhile
		p.ahead[name] = 0
	}
	ahead := p.ahead[name]
	p.ahead[name] += len(a) - len(b)
	p.runs(what, name, a[:i], b[:j], inA, inB, inA, inB, p.restart, ahead)
	p.runs(what+" since the restart", name, a[i:], b[j:], inA, inB, cmp.Or(at(a, i-1), inA), cmp.Or(at(b, j-1), inB), 0, ahead+i-j)
}

// runs compares runs of a container until a time since the beginning, 0 for the end. The
// kubelet has made more of them before.
func (p *comparing) runs(what, name string, a, b []*Attempt, inA, inB, beforeA, beforeB *Attempt, until time.Duration, more int) {
	for i := range max(len(a), len(b)) {
		what := fmt.Sprintf("%s attempt %d", what, i)
		if i >= len(a) || i >= len(b) {
			if p.cut(i, a, b, inA, inB, until) || p.drifted[name] {
				p.cuts = append(p.cuts, name)
				return
			}
			p.oneMore(what, a, b, i)
			return
		}
		last := i == len(a)-1 || i == len(b)-1
		if last && until > 0 && p.spansRestart(a[i], b[i]) {
			p.drifted[name] = true // its probes start over, or its stop
			return
		}
		if last && p.cutShort(a[i], b[i], inA, inB, until) {
			p.cuts = append(p.cuts, name)
			return
		}
		if stopTie(a[i], b[i]) || p.phaseTie(a[i], b[i]) || p.flipTie(name, a[i], b[i]) {
			p.drifted[name] = true
			continue
		}
		if p.drifts(a, b, i) {
			p.drifted[name] = true
		}
		p.more, p.apartBefore = more, p.drifted[name]
		p.steps(what, a[i], b[i], cmp.Or(at(a, i-1), beforeA), cmp.Or(at(b, i-1), beforeB), inA, inB)
		p.more, p.apartBefore = 0, false
		p.probes(what, a[i], b[i], inA, inB)
	}
}

func methods(a *Attempt) string {
	var all []string
	for _, s := range a.Steps {
		all = append(all, s.Method+" "+s.Code)
	}
	return strings.Join(all, ", ")
}

func (p *comparing) oneMore(what string, a, b []*Attempt, i int) {
	show := func(list []*Attempt) string {
		if x := at(list, i); x != nil {
			return methods(x)
		}
		return "none"
	}
	p.differ(what, show(a), show(b))
}

// spending are what a stop follows that has taken of the grace period: a preStop hook, and the containers
// that are stopped before.
var spending = []string{"ExecSync", "StopContainer", "exit"}

// steps compares the calls of an attempt, with their requests and their times.
func (p *comparing) steps(what string, a, b, beforeA, beforeB, inA, inB *Attempt) {
	if methods(a) != methods(b) && !p.atEnd(a, b) {
		p.differ(what+": calls", methods(a), methods(b))
	}
	for i := range min(len(a.Steps), len(b.Steps)) {
		x, y := a.Steps[i], b.Steps[i]
		if x.Method != y.Method {
			break
		}
		p.Calls++
		delayA, afterA := p.delay(p.kubelet, a, i, beforeA, inA)
		delayB, after := p.delay(p.podctl, b, i, beforeB, inB)
		sinceA, sinceB := p.sinceAct(x, y)
		seconds := 0
		if x.Method == "StopContainer" && slices.Contains(spending, after) { // part of the grace period is spent
			seconds = 1 + int((sinceA-sinceB).Abs().Round(time.Second)/time.Second)
		}
		if x.Method == "StopContainer" && p.actTie(x, y) {
			p.stopTied = true
			return
		}
		if x.Method == "StopContainer" && p.stopTied { // what is left of the grace period depends on that
			seconds = 600
		}
		p.fields(what+" "+x.Method, x.Request, y.Request, seconds)
		if x.Method == "StopContainer" && (afterA == "act") != (after == "act") && p.apart(a, b) {
			return // one was told to stop before its probe had come so far
		}
		class := x.Method + " after " + after
		if i == 0 && (p.apartBefore || p.right[a] && p.right[b]) && p.late(delayA, delayB, class) {
			continue
		}
		if p.restart > 0 && (spans(p.kubelet, a, x, p.restart) || spans(p.podctl, b, y, p.restart)) {
			continue // probes and deadlines start over
		}
		p.Delays = append(p.Delays, Delay{class, delayA, delayB, p.pod.Name + " " + what})
		if p.late(delayA, delayB, class) && (sinceA-sinceB).Abs() > slack && p.lateAfterOwn(a, b, i, class) && !behindStop(inA, a, x, delayA) && !behindStop(inB, b, y, delayB) {
			p.differ(what+" "+class, delayA.Round(time.Millisecond).String(), delayB.Round(time.Millisecond).String())
		}
	}
	if a.Exit.Code != b.Exit.Code && methods(a) == methods(b) && !p.apart(a, b) && !graceTie(a, b) && !a.Exit.At.IsZero() && !b.Exit.At.IsZero() {
		p.differ(what+": exit", fmt.Sprint(a.Exit.Code, a.Exit.Reason), fmt.Sprint(b.Exit.Code, b.Exit.Reason))
	}
}

// order compares in which order the first attempts of the containers began.
func (p *comparing) order(what string, a, b *Attempt) {
	first := func(x *Attempt) []string {
		type begin struct {
			name string
			at   time.Time
		}
		var begins []begin
		for name, runs := range x.Containers {
			if len(runs) > 0 {
				begins = append(begins, begin{name, runs[0].Steps[0].At})
			}
		}
		slices.SortFunc(begins, func(a, b begin) int { return a.at.Compare(b.at) })
		var names []string
		for _, b := range begins {
			names = append(names, b.name)
		}
		return names
	}
	fa, fb := first(a), first(b)
	if len(fa) == len(fb) && !slices.Equal(fa, fb) {
		p.differ(what+": order of the containers", strings.Join(fa, " "), strings.Join(fb, " "))
	}
}
