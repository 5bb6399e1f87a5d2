package lifecycle

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// fakeNode carries actions out as a node does, on workers, locks and a host that
// may fail, and checks the invariants on the way.
type fakeNode struct {
	now     time.Time
	entries map[types.UID]Entry
	desired map[types.UID]Desired
	// known are the pods that a worker knows; finished are those of them that it has
	// brought to their end.
	known, finished map[types.UID]bool
	// touchable are the pods that this podctl started, or found to be podctl's.
	touchable map[types.UID]bool
	// taken are the names that another podctl holds, reject and busy are what admission
	// answers.
	taken  map[string]bool
	busy   bool
	reject bool
	log    []string
	broken []string
}

func newFakeNode() *fakeNode {
	return &fakeNode{
		now: matrixNow, entries: map[types.UID]Entry{}, desired: map[types.UID]Desired{}, known: map[types.UID]bool{},
		finished: map[types.UID]bool{}, touchable: map[types.UID]bool{}, taken: map[string]bool{},
	}
}

func (n *fakeNode) say(format string, args ...any) {
	n.log = append(n.log, fmt.Sprintf(format, args...))
}

func (n *fakeNode) must(ok bool, format string, args ...any) {
	if !ok {
		n.broken = append(n.broken, fmt.Sprintf(format, args...))
	}
}

func (n *fakeNode) step(uid types.UID, ev Event) {
	e, actions := Step(n.entries[uid], n.now, ev)
	n.say("%s: %T -> %s %v", uid, ev, e, actions)
	n.set(uid, e)
	n.carryOut(actions)
}

func (n *fakeNode) set(uid types.UID, e Entry) {
	n.broken = append(n.broken, violations(e)...)
	if e.Phase == None {
		delete(n.entries, uid)
		return
	}
	n.entries[uid] = e
}

func (n *fakeNode) carryOut(actions []Action) {
	started := false
	for _, action := range actions {
		uid := uidOf(action)
		switch a := action.(type) {
		case Attempt:
			started = true
			n.attempt(uid)
		case Run:
			n.must(!n.known[uid], "%s runs although its worker knows it", uid)
			n.known[uid], n.touchable[uid] = true, true
			n.finished[uid] = a.Mode == StayStopped || a.Mode == StopThenRestart
		case Update:
			n.must(n.known[uid] && !n.finished[uid], "%s is updated, and does not run", uid)
		case Kill:
			n.must(n.touchable[uid], "%s is killed, and is not ours", uid)
			n.must(!started, "%s is killed after something was started", uid)
			n.finished[uid] = n.known[uid]
		case TakeOver:
			n.known[uid], n.finished[uid], n.touchable[uid] = true, true, true
		case Recreate:
			n.must(n.known[uid], "%s is recreated, and its worker does not know it", uid)
		case Remove:
			n.must(n.touchable[uid], "%s is removed, and is not ours", uid)
			n.must(!n.known[uid], "%s is removed while its worker knows it", uid)
		case Drop:
			n.must(!n.known[uid], "%s is dropped while its worker knows it", uid)
		}
	}
}

func (n *fakeNode) inPlace(running Entry, version Desired) bool {
	return !n.finished[running.UID()] && sameNumber(running, version)
}

// attempt is what a node does about a pod that is due.
func (n *fakeNode) attempt(uid types.UID) {
	d := n.desired[uid]
	switch {
	case n.taken[d.FullName()]:
		n.step(uid, Defer{NameHeld, errors.New("held")})
	case n.busy:
		n.step(uid, Claim{})
		n.step(uid, Defer{MakingRoom, nil})
	case n.reject:
		n.step(uid, Claim{})
		n.step(uid, Reject{errors.New("OutOfcpu")})
	default:
		n.step(uid, Claim{})
		e := n.entries[uid]
		how := New
		if e.StopNext {
			how = StayStopped
		}
		n.step(uid, Begin{Mode: how, Pod: d.Pod, StopNext: e.StopNext})
	}
}

// reconcile is one turn of the loop, with the workers' own at its end.
func (n *fakeNode) reconcile() {
	known := maps.Clone(n.known)
	entries, actions := Reconcile(n.entries, Input{Desired: n.desired, Known: known, InPlace: n.inPlace}, n.now)
	n.say("reconcile %v: %v", slices.Sorted(maps.Keys(n.desired)), actions)
	n.checkUpToDate(known, entries, actions)
	n.entries = entries
	for _, e := range entries {
		n.broken = append(n.broken, violations(e)...)
	}
	n.carryOut(actions)
	n.check()
	for uid := range n.known { // workers forget what has ended and is not to stay
		if e := n.entries[uid]; n.finished[uid] && e.Phase != Active {
			delete(n.known, uid)
		}
	}
}

// checkUpToDate: what is up to date changes nothing, whether it is in the input or not.
func (n *fakeNode) checkUpToDate(known map[types.UID]bool, after map[types.UID]Entry, actions []Action) {
	entries, desired := maps.Clone(n.entries), maps.Clone(n.desired)
	for uid, e := range n.entries {
		if d, wanted := desired[uid]; wanted && known[uid] && e.IsUpToDate(d) {
			n.must(reflect.DeepEqual(after[uid], e), "%s is up to date, and becomes %s", uid, after[uid])
			delete(entries, uid)
			delete(desired, uid)
		}
	}
	_, without := Reconcile(entries, Input{Desired: desired, Known: known, InPlace: n.inPlace}, n.now)
	n.must(reflect.DeepEqual(without, actions), "%v without what is up to date", without)
}

// check is what must hold after each turn.
func (n *fakeNode) check() {
	names := map[string]types.UID{}
	for uid, e := range n.entries {
		if e.Leaving() {
			continue
		}
		other, twice := names[e.FullName()]
		n.must(!twice, "%s and %s of one name are both wanted", uid, other)
		names[e.FullName()] = uid
	}
	for uid := range n.desired {
		e := n.entries[uid]
		n.must(e.IsDesired(), "%s is desired, and is %s", uid, e)
		n.must(e.Phase != Active || bytes.Equal(e.Document, n.desired[uid].Document), "%s does not follow its manifest: %s", uid, e)
		n.must(e.Phase != Starting, "%s is still starting", uid)
		if e.Phase == Waiting {
			n.must(!e.Wait.RetryAt.After(n.now.Add(MaxRetryPeriod)), "%s is not retried soon: %s", uid, e)
		}
	}
	for uid, e := range n.entries {
		if _, desired := n.desired[uid]; !desired {
			n.must(e.Leaving() && e.Next == nil, "%s is not desired, and is %s", uid, e)
		}
	}
}

// pods that may be desired: two of one name, and others.
var someUIDs = []types.UID{"web-1", "web-2", "job-1", "db-1"}

func (n *fakeNode) random(choice func(int) int) {
	uid := someUIDs[choice(len(someUIDs))]
	switch choice(14) {
	case 0, 1, 2:
		s := script{}
		d := s.pod(string(uid), []string{"v0", "v0.1", "v1"}[choice(3)])
		for other, has := range n.desired {
			if has.FullName() == d.FullName() {
				delete(n.desired, other)
			}
		}
		n.desired[uid] = d
	case 3:
		delete(n.desired, uid)
	case 4:
		name := wanted("", strings.Split(string(uid), "-")[0]).FullName()
		n.taken[name] = !n.taken[name]
	case 5:
		n.busy = !n.busy
	case 6:
		n.reject = !n.reject
	case 7:
		if n.entries[uid].Phase == Removing {
			n.step(uid, RemovalDone{[]error{nil, errors.New("busy")}[choice(2)]})
		}
	case 8:
		if n.entries[uid].Phase == Stopping && n.known[uid] {
			n.step(uid, Cleaned{})
		}
	case 9:
		n.step(uid, []Event{Stop{}, Start{}, Retry{}}[choice(3)])
		if e := n.entries[uid]; e.Phase == Stopping {
			n.finished[uid] = n.known[uid]
		}
	case 10:
		if _, has := n.entries[uid]; !has && !n.known[uid] {
			n.touchable[uid] = true
			n.step(uid, []Event{Leftover{script{}.leftover(uid)}, Found{Desired: script{}.leftover(uid)}}[choice(2)])
		}
	default:
		n.now = n.now.Add(time.Duration(choice(5)) * time.Second)
		n.reconcile()
	}
}

func (script) leftover(uid types.UID) Desired {
	s := script{}
	return s.pod(string(uid), "v9")
}

// settle ends all that is in the way and waits.
func (n *fakeNode) settle() {
	n.taken, n.busy, n.reject = map[string]bool{}, false, false
	for range 30 {
		for _, uid := range someUIDs {
			if n.entries[uid].Phase == Removing {
				n.step(uid, RemovalDone{})
			}
		}
		n.now = n.now.Add(RetryPeriod)
		n.reconcile()
	}
	for uid := range n.desired {
		e := n.entries[uid]
		n.must(e.Phase == Active || e.Phase == Rejected, "%s is lost: %s", uid, e)
	}
	n.must(len(n.entries) == len(n.desired), "left: %v", n.entries)
}

func TestInvariantsHoldInRandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := newFakeNode()
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			n.random(func(m int) int { return rapid.IntRange(0, m-1).Draw(rt, "choice") })
		}
		n.settle()
		if len(n.broken) > 0 {
			rt.Fatalf("%s\nin\n%s", strings.Join(n.broken, "\n"), strings.Join(n.log, "\n"))
		}
	})
}
