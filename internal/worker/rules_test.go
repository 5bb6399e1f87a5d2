package worker

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestGraceIsSmallestRequestedAndNeverGrows(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	cases := []struct {
		name                     string
		current                  int64
		deletion, override, spec *int64
		want                     int64
	}{
		{"nothing at all is 1", 0, nil, nil, nil, 1},
		{"the spec's, if nothing else is asked for", 0, nil, nil, n(30), 30},
		{"a spec of 0 is 1", 0, nil, nil, n(0), 1},
		{"the deletion's before the spec's", 0, n(10), nil, n(30), 10},
		{"the deletion's, though longer than the spec's", 0, n(50), nil, n(30), 50},
		{"the override's if shorter than the deletion's", 0, n(10), n(5), n(30), 5},
		{"the deletion's if shorter than the override's", 0, n(10), n(20), n(30), 10},
		{"a deletion of 0 counts as unset for the override", 0, n(0), n(20), n(30), 20},
		{"a deletion of 0 alone is 1, not the spec's", 0, n(0), nil, n(30), 1},
		{"negative is 1", 0, nil, n(-5), n(30), 1},
		{"it stays without a wish", 10, nil, nil, n(5), 10},
		{"it does not grow by a deletion", 10, n(20), nil, nil, 10},
		{"it does not grow by an override", 10, nil, n(20), nil, 10},
		{"it shrinks", 10, nil, n(4), nil, 4},
		{"it shrinks to 1", 10, n(0), nil, nil, 1},
		{"a wish of 0 counts as unset for the one after it", 10, n(0), n(7), nil, 7},
	}
	for _, c := range cases {
		p := testPod("u1", "web", c.spec)
		p.DeletionGracePeriodSeconds = c.deletion
		if got := effectiveGrace(c.current, p, c.override); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
	if got := effectiveGrace(0, nil, nil); got != 1 {
		t.Errorf("without a spec: got %d, want 1", got)
	}
}

func TestRetryDependsOnErrorType(t *testing.T) {
	now := time.Unix(1000, 0)
	in := func(d time.Duration) error { return retryError{now.Add(d)} }
	cases := []struct {
		name string
		err  error
		want time.Duration
	}{
		{"any error", errors.New("boom"), BackOffPeriod},
		{"the text of network not ready is not its type", errors.New(ErrNetworkNotReady.Error()), BackOffPeriod},
		{"network not ready", fmt.Errorf("sandbox: %w", ErrNetworkNotReady), NetworkBackOffPeriod},
		{"network not ready beside a retry time", errors.Join(in(time.Second*30), ErrNetworkNotReady), NetworkBackOffPeriod},
		{"a retry time", in(25 * time.Second), 25 * time.Second},
		{"a wrapped retry time", fmt.Errorf("a: %w", fmt.Errorf("b: %w", in(3*time.Second))), 3 * time.Second},
		{"the earliest of several", errors.Join(in(30*time.Second), errors.New("boom"), fmt.Errorf("c: %w", in(5*time.Second))), 5 * time.Second},
		{"a retry time that is past", in(-time.Hour), 0},
		{"a retry time far away", in(time.Hour), ResyncPeriod},
		{"a retry time that is none", noRetry{}, BackOffPeriod},
	}
	for _, c := range cases {
		if got := retryAfter(now, c.err); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// noRetry could know when to try again, and does not.
type noRetry struct{}

func (noRetry) Error() string              { return "no idea" }
func (noRetry) RetryAt() (time.Time, bool) { return time.Time{}, false }

func TestNamesAreFirstComeFirstServed(t *testing.T) {
	var n Names
	stopped := map[types.UID]bool{}
	live := func(uid types.UID) bool { return !stopped[uid] }
	do := func(uid types.UID, changes ...NameChange) {
		for _, c := range changes {
			n.Apply(c, "web_ns", uid, live)
		}
	}
	expect := func(what string, uid types.UID, want NameView, may bool) {
		t.Helper()
		got := n.View("web_ns", uid, live)
		if got != want || got.mayTake(uid) != may {
			t.Errorf("%s: %s sees %+v (may take: %v), want %+v (%v)", what, uid, got, got.mayTake(uid), want, may)
		}
	}
	expect("it is not desired", "u1", NameView{}, true)
	for _, uid := range []types.UID{"u1", "u2", "u3"} {
		do(uid, NameJoin)
	}
	expect("the second in line", "u2", NameView{Next: "u1"}, false)
	expect("the first in line", "u1", NameView{Next: "u1"}, true)
	do("u1", NameTake)
	expect("it is held", "u2", NameView{Holder: "u1", Next: "u2"}, false)
	stopped["u2"] = true
	do("u1", NameLeave)
	expect("the stopped one is skipped", "u3", NameView{Next: "u3"}, true)
	if got := n.View("other_ns", "u9", live); got != (NameView{}) {
		t.Errorf("another name is concerned: %+v", got)
	}
}

// A UID that comes again has its old place until someone behind it asks: the
// kubelet's lists are pruned by those who ask.
func TestNamesKeepPlaceOfReturningUID(t *testing.T) {
	stopped := map[types.UID]bool{}
	live := func(uid types.UID) bool { return !stopped[uid] }
	line := func(ask bool) Names {
		var n Names
		for _, uid := range []types.UID{"u1", "u2", "u3"} {
			n.Apply(NameJoin, "web_ns", uid, live)
		}
		stopped["u1"] = true
		if ask {
			n.Apply(NameAwait, "web_ns", "u3", live)
		}
		stopped["u1"] = false
		n.Apply(NameJoin, "web_ns", "u1", live)
		return n
	}
	for ask, want := range map[bool]types.UID{false: "u1", true: "u2"} {
		n := line(ask)
		if got := n.View("web_ns", "u3", live).Next; got != want {
			t.Errorf("someone asked meanwhile: %v; next is %s, want %s", ask, got, want)
		}
	}
}

func TestFirstOfSeveralHoldersHasTheName(t *testing.T) {
	var n Names
	live := func(types.UID) bool { return true }
	for _, uid := range []types.UID{"u1", "u2"} {
		n.Apply(NameHold, "web_ns", uid, live)
	}
	if got := n.View("web_ns", "u2", live).Holder; got != "u1" {
		t.Errorf("the holder is %s, want u1", got)
	}
	n.Apply(NameLeave, "web_ns", "u1", live)
	if got := n.Holders("web_ns"); !slices.Equal(got, []types.UID{"u2"}) {
		t.Errorf("the holders are %v, want u2", got)
	}
	n.Apply(NameLeave, "web_ns", "u2", live)
	if got := n.Holders("web_ns"); len(got) != 0 {
		t.Errorf("the holders are %v, want none", got)
	}
}

func TestQueries(t *testing.T) {
	type answers struct{ could, terminating, runtime, content, finished, requested, terminated bool }
	cases := []struct {
		name  string
		state State
		want  answers
	}{
		{"syncing", State{Phase: Syncing}, answers{could: true}},
		{"stopped, not yet picked up", State{Phase: Terminating, Deleted: true}, answers{could: true, requested: true}},
		{"terminating", State{Phase: Terminating, TerminatingSeen: true, Deleted: true}, answers{could: true, terminating: true, requested: true}},
		{"evicted", State{Phase: Terminating, TerminatingSeen: true, Evicted: true}, answers{could: true, terminating: true, content: true, requested: true}},
		{"terminated", State{Phase: Terminated, TerminatingSeen: true}, answers{terminating: true, runtime: true, requested: true, terminated: true}},
		{"terminated and deleted", State{Phase: Terminated, TerminatingSeen: true, Deleted: true}, answers{terminating: true, runtime: true, content: true, requested: true, terminated: true}},
		{"finished without a start", State{Phase: Finished}, answers{runtime: true, finished: true, requested: true, terminated: true}},
	}
	for _, c := range cases {
		w := New(Options{})
		w.pods["u1"] = &podWorker{state: c.state}
		got := answers{
			w.CouldHaveRunningContainers("u1"), w.ShouldPodContainersBeTerminating("u1"), w.ShouldPodRuntimeBeRemoved("u1"),
			w.ShouldPodContentBeRemoved("u1"), w.ShouldPodBeFinished("u1"), w.IsPodTerminationRequested("u1"), w.IsPodKnownTerminated("u1"),
		}
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	for synced, want := range map[bool]answers{
		false: {could: true},
		true:  {terminating: true, runtime: true, content: true, finished: true},
	} {
		w := New(Options{})
		w.synced = synced
		got := answers{
			w.CouldHaveRunningContainers("u1"), w.ShouldPodContainersBeTerminating("u1"), w.ShouldPodRuntimeBeRemoved("u1"),
			w.ShouldPodContentBeRemoved("u1"), w.ShouldPodBeFinished("u1"), w.IsPodTerminationRequested("u1"), w.IsPodKnownTerminated("u1"),
		}
		if got != want {
			t.Errorf("unknown, synced %v: got %+v, want %+v", synced, got, want)
		}
	}
}
