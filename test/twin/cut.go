package twin

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// takeover is how long a kubelet takes from the end of a pod until it makes the next of its name, at
// most: its housekeeping, and a retry.
const takeover = 15 * time.Second

// cutSandbox reports whether the node that has no sandbox i had no time for it before the end. The runs
// of its containers are cut then.
func (p *comparing) cutSandbox(i int, a, b []*Attempt) bool {
	x, s := at(a, i), p.kubelet
	if x == nil {
		x, s = b[i], p.podctl
	}
	if i == 0 || s.Ended.Sub(x.Steps[0].At) > takeover {
		return false
	}
	p.sandboxCut = true
	for name, runs := range x.Containers {
		p.cuts = append(p.cuts, slices.Repeat([]string{name}, len(runs))...)
	}
	return true
}

// cut reports whether the node that has no attempt i had no time for it: what ended the
// container came before its twin's attempt would have.
func (p *comparing) cut(i int, a, b []*Attempt, inA, inB *Attempt, until time.Duration) bool {
	more, less, inMore, inLess, side := a, b, inA, inB, p.podctl
	if len(b) > len(a) {
		more, less, inMore, inLess, side = b, a, inB, inA, p.kubelet
	}
	closing := p.closing(inLess, side, until)
	if i == 0 {
		first := more[0].Steps[0].At
		due := inLess.Steps[0].At.Add(first.Sub(inMore.Steps[0].At)) // its sandbox may have begun later
		return first.Add(slack).After(closing) || due.Add(slack).After(closing)
	}
	if p.right[more[i]] && p.due[less[i-1]].After(closing) {
		return true
	}
	if ran := ended(more[i-1]).Sub(more[i-1].Steps[0].At); less[i-1].Exit.At.IsZero() && less[i-1].Steps[0].At.Add(ran+slack).After(closing) {
		return true // the run before had not ended
	}
	gap := more[i].Steps[0].At.Sub(ended(more[i-1]))
	due := ended(less[i-1]).Add(gap)
	return due.Add(spread(gap)).After(closing)
}

// cutShort reports whether both runs ended when they were told to stop or shortly before that, by as much as they
// began apart: one may have ended by itself.
func (p *comparing) cutShort(a, b, inA, inB *Attempt, until time.Duration) bool {
	if methods(a) == methods(b) {
		return false
	}
	drift := a.Steps[0].At.Sub(p.kubelet.Began) - b.Steps[0].At.Sub(p.podctl.Began)
	near := func(x, in *Attempt, s *Side) bool { return p.closing(in, s, until).Sub(ended(x)) < slack+drift.Abs() }
	return near(a, inA, p.kubelet) && near(b, inB, p.podctl)
}

// closing is when the containers of a sandbox were told to stop, or the recording ended.
func (p *comparing) closing(sandbox *Attempt, s *Side, until time.Duration) time.Time {
	end := s.Ended
	if at := s.Began.Add(until); until > 0 && at.Before(end) {
		end = at
	}
	for _, step := range sandbox.Steps {
		if step.Method == "StopPodSandbox" && step.At.Before(end) {
			end = step.At
		}
	}
	if d := p.manifest().Spec.ActiveDeadlineSeconds; d != nil {
		if at := s.Began.Add(p.pod.Acts[0].At + time.Duration(*d)*time.Second); at.After(sandbox.Steps[0].At) && at.Before(end) {
			end = at
		}
	}
	for _, act := range p.pod.Acts[1:] {
		if at := s.Began.Add(act.At); at.After(sandbox.Steps[0].At) && at.Before(end) {
			end = at
		}
	}
	return end
}

// ended is when an attempt ended: its exit, else its last call.
func ended(a *Attempt) time.Time {
	if !a.Exit.At.IsZero() {
		return a.Exit.At
	}
	return a.Steps[len(a.Steps)-1].End
}

// atEnd reports whether one node made all calls of the other, and further ones so shortly before the end
// that the other had no time for them, or had none because it began later.
func (p *comparing) atEnd(a, b *Attempt) bool {
	more, less, of, other := a, b, p.kubelet, p.podctl
	if len(b.Steps) > len(a.Steps) {
		more, less, of, other = b, a, p.podctl, p.kubelet
	}
	n := len(less.Steps)
	if n >= len(more.Steps) || methods(&Attempt{Steps: more.Steps[:n]}) != methods(less) {
		return false
	}
	next := more.Steps[n].At
	due := less.Steps[0].At.Add(next.Sub(more.Steps[0].At) + slack + longestPeriod)
	return of.Ended.Sub(next) < takeover || p.apart(a, b) && due.After(other.Ended)
}

// spansRestart reports whether one of the runs had not ended when the nodes were killed, and the two
// did not end alike: before or after that, by the same calls, and as long after they began, but for a tick of a probe.
func (p *comparing) spansRestart(a, b *Attempt) bool {
	killed := func(s *Side) time.Time { return s.Began.Add(p.restart) }
	open := func(x *Attempt, s *Side) bool {
		return x.Exit.At.IsZero() || x.Exit.At.After(killed(s)) || slices.ContainsFunc(x.Steps, func(step Step) bool { return step.End.After(killed(s)) })
	}
	took := func(x *Attempt) time.Duration { return ended(x).Sub(x.Steps[0].At) }
	openA, openB := open(a, p.kubelet), open(b, p.podctl)
	return openA != openB || openA && (methods(a) != methods(b) || (took(a)-took(b)).Abs() > slack+longestPeriod)
}

// graceTie reports whether one run was killed when its grace period was over, and the other ended by itself in that
// time: the killed one had not come so far.
func graceTie(a, b *Attempt) bool {
	killed, other := a, b
	if b.Exit.Code == 137 {
		killed, other = b, a
	}
	took := func(x *Attempt) time.Duration { return x.Exit.At.Sub(x.Steps[0].At) }
	return killed.Exit.Code == 137 && other.Exit.Code != 143 && a.Steps[len(a.Steps)-1].Method == "StopContainer" && took(killed)-took(other) < slack
}

// phaseTie reports whether one of two runs that began soon after the nodes were killed was stopped by its
// probe: a node that has just started lets its probes begin after a random part of their period.
func (p *comparing) phaseTie(a, b *Attempt) bool {
	soon := func(x *Attempt, s *Side) bool {
		after := x.Steps[0].At.Sub(s.Began.Add(p.restart))
		return after > 0 && after < downtime+longestPeriod
	}
	more, less := a, b
	if len(b.Steps) > len(a.Steps) {
		more, less = b, a
	}
	n := len(less.Steps)
	return p.restart > 0 && soon(a, p.kubelet) && soon(b, p.podctl) && len(more.Steps) == n+1 && more.Steps[n].Method == "StopContainer" &&
		methods(&Attempt{Steps: more.Steps[:n]}) == methods(less)
}

// flips are when a container's script makes or removes the file that its probes look for, since its start.
func flips(script string) (all []time.Duration) {
	at := time.Duration(0)
	for command := range strings.SplitSeq(script, "; ") {
		if seconds, ok := strings.CutPrefix(command, "sleep "); ok {
			d, err := time.ParseDuration(seconds + "s")
			if err != nil { // infinity
				break
			}
			at += d
		} else if strings.HasSuffix(command, " /ready") && at > 0 {
			all = append(all, at)
		}
	}
	return all
}

// flipTie reports whether one of two runs was stopped within a tick of when its script changed what its probes look
// for, and the other was not stopped then: a kubelet's probes know a container a relist later.
func (p *comparing) flipTie(name string, a, b *Attempt) bool {
	var tick time.Duration
	pod := p.manifest()
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, probe := range []*v1.Probe{c.StartupProbe, c.LivenessProbe} {
			if c.Name == name && probe != nil {
				tick = max(tick, time.Duration(probe.PeriodSeconds)*time.Second+time.Second)
			}
		}
	}
	stopped := func(x *Attempt) (since time.Duration, ok bool) {
		start := x.first("StartContainer")
		stop := x.first("StopContainer")
		if start < 0 || stop < 0 {
			return 0, false
		}
		return x.Steps[stop].At.Sub(x.Steps[start].End), true
	}
	near := func(since time.Duration, ok bool) bool {
		return ok && slices.ContainsFunc(flips(pod.Annotations["sim.podctl.io/script."+name]), func(at time.Duration) bool { return (since - at).Abs() < tick })
	}
	x, xOK := stopped(a)
	y, yOK := stopped(b)
	alike := xOK && yOK && (x-y).Abs() < slack
	return !alike && (near(x, xOK) || near(y, yOK))
}

// actTie reports whether two stops came within a tick of a probe of each other, the one before and the other after
// the manifest changed: a probe was about to stop what was stopped then.
func (p *comparing) actTie(a, b Step) bool {
	x, y := a.At.Sub(p.kubelet.Began), b.At.Sub(p.podctl.Began)
	return (x-y).Abs() < longestPeriod && slices.ContainsFunc(p.pod.Acts, func(act Act) bool { return (x < act.At) != (y < act.At) })
}

// stopTie reports whether one run was stopped, and the other ended by itself first, within a tick of a
// probe of that.
func stopTie(a, b *Attempt) bool {
	stopped, other := a, b
	if len(b.Steps) > len(a.Steps) {
		stopped, other = b, a
	}
	last := stopped.Steps[len(stopped.Steps)-1]
	if last.Method != "StopContainer" || methods(stopped) == methods(other) || other.Exit.At.IsZero() {
		return false
	}
	apart := last.At.Sub(stopped.Steps[0].At) - other.Exit.At.Sub(other.Steps[0].At)
	return apart.Abs() < longestPeriod
}
