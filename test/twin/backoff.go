package twin

import (
	"maps"
	"time"
)

// firstBackOff and lastBackOff bound how long a container that ended waits for its next run: each wait
// is twice the one before (kuberuntime_manager.go, doBackOff).
const (
	firstBackOff = 10 * time.Second
	lastBackOff  = 5 * time.Minute
)

// tie is how near to the end of a back-off a decision may fall on either side.
const tie = 250 * time.Millisecond

// retry is how long after the end of a back-off a kubelet syncs the pod again, at most.
const retry = 20 * time.Second

// byRule returns the runs of a container that began when the crash back-off allowed it, judged by the exits
// before them. The two nodes may then differ though both are right: what a probe kills ends by the
// probe's own clock, and a kubelet's retries are spread over seconds. A node that has been started again
// since the first of the runs has forgotten the back-off. due is when the run after the last one must have
// begun, zero if that is not known.
func byRule(runs []*Attempt, again bool) (right map[*Attempt]bool, due time.Time) {
	right = map[*Attempt]bool{}
	var wait time.Duration
	for i := 1; i < len(runs) && !runs[i-1].Exit.At.IsZero(); i++ {
		before, began := runs[i-1], runs[i].Steps[0].At
		waited := began.Sub(before.Exit.At)
		atOnce := waited < slack
		switch killed := killedBySync(before); {
		case again && i == 1:
			right[runs[i]] = true
		case killed && (i == 1 || runs[i-2].Exit.At.IsZero()):
			// The sync that kills a container knows the end of the run before that one only.
			right[runs[i]] = atOnce
			continue
		case killed && atOnce:
			right[runs[i]] = began.Sub(runs[i-2].Exit.At) > wait-tie
		case killed && before.Exit.At.Sub(runs[i-2].Exit.At) > wait+tie:
			right[runs[i]] = false
		default:
			right[runs[i]] = wait == 0 && atOnce || wait > 0 && waited > wait-tie && waited < wait+retry
		}
		wait = min(max(2*wait, firstBackOff), lastBackOff)
	}
	if n := len(runs); n > 1 && !runs[n-1].Exit.At.IsZero() {
		due = runs[n-1].Exit.At.Add(slack)
		if wait > 0 && (!killedBySync(runs[n-1]) || runs[n-1].Exit.At.Sub(runs[n-2].Exit.At) < wait+tie) {
			due = runs[n-1].Exit.At.Add(wait + retry)
		}
	}
	return right, due
}

// killedBySync reports whether a sync stopped the container, because of a probe or a change, and
// not its own start, because of a postStart hook that failed.
func killedBySync(run *Attempt) bool {
	var started time.Time
	for _, s := range run.Steps {
		switch s.Method {
		case "StartContainer":
			started = s.End
		case "StopContainer":
			return s.At.Sub(started) > 500*time.Millisecond
		}
	}
	return false
}

// drifts reports whether run i of a container began so much later on one node that what follows differs,
// though both began it by the rule.
func (p *comparing) drifts(a, b []*Attempt, i int) bool {
	if i == 0 || !p.right[a[i]] || !p.right[b[i]] {
		return false
	}
	waited := func(list []*Attempt) time.Duration { return list[i].Steps[0].At.Sub(ended(list[i-1])) }
	x, y := waited(a), waited(b)
	return (x < slack) != (y < slack) || p.late(x, y, "CreateContainer")
}

// restartBetween reports whether the nodes were killed shortly after the last runs of a container on one
// began, and before those of the other.
func (p *comparing) restartBetween(a, b []*Attempt) bool {
	more, less, s := a, b, p.kubelet
	if len(b) > len(a) {
		more, less, s = b, a, p.podctl
	}
	return p.restart > 0 && len(less) < len(more) && s.Began.Add(p.restart).Sub(more[len(less)].Steps[0].At) < downtime
}

// restartBetweenSandboxes reports whether the nodes were killed after one sandbox was made and before the
// other: the one has forgotten what it was doing there.
func (p *comparing) restartBetweenSandboxes(a, b *Attempt) bool {
	before := func(x *Attempt, s *Side) bool { return x.Steps[0].At.Before(s.Began.Add(p.restart)) }
	return p.restart > 0 && before(a, p.kubelet) != before(b, p.podctl)
}

// judge notes which runs of a container began by the rule.
func (p *comparing) judge(runs []*Attempt, again bool) {
	right, due := byRule(runs, again)
	maps.Copy(p.right, right)
	if len(runs) > 1 {
		p.due[runs[len(runs)-1]] = due
	}
}
