package node

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// ErrPodsLeft: the time for terminating pods was over before all had ended.
var ErrPodsLeft = errors.New("pods were left behind")

// survey is how far the node knows which pods the runtime holds. An earlier podctl may have
// left some: until they are adopted, a drain does not know of them.
type survey int

const (
	surveyPending survey = iota
	surveyListed         // the pods are listed, and not all of them are adopted or being stopped
	surveyDone
)

// listTime is how long a drain waits for the first listing of the runtime's pods. A
// runtime that hangs does not keep a user from leaving.
const listTime = 800 * time.Millisecond

// advanceSurvey records progress of the survey, which never goes back.
func (t *podTable) advanceSurvey(to survey) {
	if t.hasSurveyed(to) {
		return // each later pass of the loop comes here
	}
	t.mu.Lock()
	t.survey = to
	t.mu.Unlock()
	t.watchers.notifyChanged()
}

// hasSurveyed reports whether the survey has come so far. Only the loop advances it.
func (t *podTable) hasSurveyed(to survey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.survey >= to
}

// waitForSurvey waits until the survey is done, ctx ends, or the runtime has not listed its
// pods in time.
func (n *Node) waitForSurvey(ctx context.Context) {
	timed, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if n.watchers.waitUntil(timed, func() bool { return n.pods.hasSurveyed(surveyListed) }) == nil {
		// The caller's wait ends with ctx, too.
		_ = n.watchers.waitUntil(ctx, func() bool { return n.pods.hasSurveyed(surveyDone) })
	}
}

// Drain terminates all pods, as if no source desired any, and returns once nothing
// is left of them or ctx ends. grace, in seconds, shortens theirs; nil leaves
// it. Called again, also while it runs, with less it shortens it further.
func (n *Node) Drain(ctx context.Context, grace *int64) error {
	n.pods.mu.Lock()
	var hurry []*v1.Pod
	if n.pods.drain == nil {
		n.pods.drain = &drain{grace: grace}
	} else {
		for _, e := range n.pods.entries {
			if e.hasWorker() {
				hurry = append(hurry, e.Pod)
			}
		}
		n.pods.drain = &drain{grace: shorterGrace(n.pods.drain.grace, grace)}
	}
	n.pods.mu.Unlock()
	n.killPods(hurry, grace)
	n.wake.signal()
	n.waitForSurvey(ctx)
	return n.watchers.waitUntil(ctx, func() bool {
		n.pods.mu.Lock()
		defer n.pods.mu.Unlock()
		return n.pods.unspared() == 0
	})
}

// drain says that nothing is desired any more.
type drain struct {
	// grace in seconds shortens that of the pods; nil leaves it.
	grace *int64
	// spare reports which pods are left as they are for now; nil is none.
	spare func(*entry) bool
}

func shorterGrace(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

const (
	// criticalShare is the part of a shutdown's time that is kept for critical
	// pods, and criticalMost what it is at most.
	criticalShare = 3
	criticalMost  = 10 * time.Second
	// removalTime is how much longer than its grace a pod may take to go.
	removalTime = 2 * time.Second
)

// Shutdown terminates all pods that run, critical ones last, within the given time
// (pkg/kubelet/nodeshutdown: two groups, each with its share of the time). Pods
// that have ended, or that were stopped, stay as they are, so that a later podctl
// does not start them. The error is ErrPodsLeft where the time is over before
// the pods are terminated: the remaining ones go on terminating; or where the runtime did
// not say which pods an earlier podctl has left.
func (n *Node) Shutdown(ctx context.Context, within time.Duration) error {
	end := time.Now().Add(within)
	ended := func(e *entry) bool {
		return e.Phase == lifecycle.Rejected || !e.hasNext() && (e.stage == worker.Finished || e.stoppedBefore || e.record.StayStopped)
	}
	notNow := func(e *entry) bool { return ended(e) || pod.IsCritical(e.Pod) }
	critical := min(within/criticalShare, criticalMost)
	for _, group := range []struct {
		spare func(*entry) bool
		until time.Time
	}{{notNow, end.Add(-critical)}, {ended, end}} {
		if err := n.shutdown(ctx, group.spare, group.until); err != nil && !errors.Is(err, ErrPodsLeft) {
			return err
		}
	}
	n.pods.mu.Lock()
	left := n.pods.unspared()
	var running []*v1.Pod
	for _, e := range n.pods.entries {
		if n.pods.terminates(e) {
			running = append(running, e.Pod)
		}
	}
	n.pods.mu.Unlock()
	slices.SortFunc(running, lifecycle.CompareNames)
	for _, p := range running {
		n.evictor.sendExceeded(p)
	}
	if left > 0 || !n.settled.Load() {
		return ErrPodsLeft
	}
	return nil
}

// shutdown terminates all pods but the spared ones, with a grace that fits in the
// time, and waits for that.
func (n *Node) shutdown(ctx context.Context, spare func(*entry) bool, until time.Time) error {
	grace := max(1, int64((time.Until(until)-removalTime)/time.Second))
	n.pods.mu.Lock()
	n.pods.drain = &drain{grace: &grace, spare: spare}
	var hurry []*v1.Pod
	for _, e := range n.pods.entries {
		if !n.pods.spared(e) && !e.IsDesired() {
			hurry = append(hurry, e.Pod) // what terminates already may take no longer
		}
	}
	n.pods.mu.Unlock()
	n.killPods(hurry, &grace)
	n.wake.signal()
	timed, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	n.waitForSurvey(timed)
	err := n.watchers.waitUntil(timed, func() bool {
		n.pods.mu.Lock()
		defer n.pods.mu.Unlock()
		return n.pods.unspared() == 0
	})
	if err != nil && ctx.Err() == nil {
		return ErrPodsLeft
	}
	return err
}

// isShuttingDown reports whether pods that have ended are to stay for a later podctl.
func (n *Node) isShuttingDown() bool {
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	return n.pods.drain != nil && n.pods.drain.spare != nil
}

// unspared counts the pods that a drain has not terminated yet. What waits does not
// count: it does not start any more. t.mu is held.
func (t *podTable) unspared() int {
	left := t.dropping
	for _, e := range t.entries {
		if t.terminates(e) {
			left++
		}
	}
	return left
}

// terminates reports whether a drain is terminating the pod. t.mu is held.
func (t *podTable) terminates(e *entry) bool { return e.hasWorker() && !t.spared(e) }

// spared reports whether a drain leaves the pod as it is. t.mu is held.
func (t *podTable) spared(e *entry) bool {
	return t.drain.spare != nil && e.IsDesired() && t.drain.spare(e)
}
