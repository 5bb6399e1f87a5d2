package lifecycle

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/testkit/testutil"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata and the table in docs/node.md")

var matrixNow = time.Unix(2_000_000, 0).UTC()

// situation is a row: a pod in a phase. before leads there from no pod.
type situation struct {
	name   string
	before []Event
	// later is how much later than the last of these events it is.
	later time.Duration
}

func v(document string) Desired {
	d := wanted("u1", "web")
	d.Document = []byte(document)
	return d
}

var (
	errTaken = errors.New("taken")
	errBusy  = errors.New("busy")
	wish     = Desire{Desired: v("v1")}
	held     = Defer{NameHeld, errTaken}
	starts   = []Event{wish, Claim{}}
	runs     = []Event{wish, Claim{}, Begin{Mode: New, Pod: v("v1").Pod}}
	again    = Desire{Desired: v("v2"), Known: true}
)

func after(first []Event, more ...Event) []Event { return append(append([]Event{}, first...), more...) }

func situations() []situation {
	return []situation{
		{"none", nil, 0},
		{"waiting, pending", []Event{wish}, 0},
		{"waiting, blocked", []Event{wish, held}, time.Second},
		{"waiting, blocked, due", []Event{wish, held}, time.Minute},
		{"waiting, blocked for long", []Event{wish, held, held, held, held}, time.Second},
		{"waiting, makes room", []Event{wish, Claim{}, Defer{MakingRoom, nil}}, 0},
		{"waiting, to be held", []Event{wish, Stop{}}, 0},
		{"starting", starts, 0},
		{"starting, to be held", after(starts, Stop{}), 0},
		{"rejected", after(starts, Reject{errBusy}), 0},
		{"active", runs, 0},
		{"active, adopted", after(starts, Begin{Mode: Resume, Pod: v("v1").Pod}), 0},
		{"stopping", after(runs, Undesire{}), 0},
		{"stopping, desired again", after(runs, again), 0},
		{"stopping, desired again, to be held", after(runs, again, Stop{}), 0},
		{"stopping, removal failed", after(runs, Undesire{}, Forgotten{}, RemovalDone{errBusy}), time.Second},
		{"stopping, removal failed, due", after(runs, Undesire{}, Forgotten{}, RemovalDone{errBusy}), time.Minute},
		{"removing", after(runs, Undesire{}, Forgotten{}), 0},
		{"removing, desired again", after(runs, again, Forgotten{}), 0},
		{"removed", after(runs, Undesire{}, Cleaned{}), 0},
		{"removed, desired again", after(runs, again, Cleaned{}), 0},
	}
}

type column struct {
	name string
	ev   Event
}

func columns() []column {
	p := v("v1").Pod
	grace := int64(5)
	return []column{
		{"desire, same manifest", wish},
		{"desire, changed manifest", Desire{Desired: v("v3")}},
		{"desire, changed in place", Desire{Desired: v("v3"), InPlace: true}},
		{"desire, known to its worker", Desire{Desired: v("v1"), Known: true}},
		{"undesire", Undesire{}},
		{"undesire, grace 5", Undesire{&grace}},
		{"claim", Claim{}},
		{"defer NameHeld", held},
		{"defer NameHeld, another holder", Defer{NameHeld, errBusy}},
		{"defer MakingRoom", Defer{MakingRoom, nil}},
		{"reject", Reject{errBusy}},
		{"begin new", Begin{Mode: New, Pod: p}},
		{"begin resume", Begin{Mode: Resume, Pod: p}},
		{"begin stay-stopped", Begin{Mode: StayStopped, Pod: p}},
		{"begin stay-stopped, after podctl stop", Begin{Mode: StayStopped, Pod: p, StopNext: true}},
		{"begin stop-then-restart", Begin{Mode: StopThenRestart, Pod: p}},
		{"found", Found{Desired: v("v0")}},
		{"found, runtime only", Found{Desired: v(""), Runtime: &pod.Pod{UID: "u1"}}},
		{"leftover", Leftover{v("")}},
		{"forgotten", Forgotten{}},
		{"cleaned", Cleaned{}},
		{"removal done", RemovalDone{}},
		{"removal failed", RemovalDone{errBusy}},
		{"stop", Stop{}},
		{"start", Start{}},
		{"retry", Retry{}},
	}
}

// reach plays the events that lead to a situation.
func (s situation) reach() Entry {
	var e Entry
	for _, ev := range s.before {
		e, _ = Step(e, matrixNow.Add(-s.later), ev)
	}
	return e
}

// TestMatrix records what every event does in every situation: the entry and the
// actions.
func TestMatrix(t *testing.T) {
	var text strings.Builder
	for _, row := range situations() {
		before := row.reach()
		fmt.Fprintf(&text, "== %s\n   %s\n", row.name, before)
		for _, c := range columns() {
			got, actions := Step(before, matrixNow, c.ev)
			for _, broken := range violations(got) {
				t.Errorf("%s / %s: %s", row.name, c.name, broken)
			}
			if got.Phase != before.Phase && got.Phase != None && !got.Since.Equal(matrixNow) {
				t.Errorf("%s / %s: since %v", row.name, c.name, got.Since)
			}
			if got.String() == before.String() && len(actions) == 0 && got.Wait.RetryAt.Equal(before.Wait.RetryAt) {
				fmt.Fprintf(&text, "%s: nothing\n", c.name)
				continue
			}
			fmt.Fprintf(&text, "%s: %s\n", c.name, got)
			for _, a := range actions {
				fmt.Fprintf(&text, "  %s\n", a)
			}
		}
		fmt.Fprintln(&text)
	}
	testutil.Golden(t, *update, "testdata/matrix.txt", text.String())
}

// violations are the invariants of Entry that an entry breaks.
func violations(e Entry) (broken []string) {
	must := func(ok bool, what string) {
		if !ok {
			broken = append(broken, what+": "+e.String())
		}
	}
	must((e.Pod == nil) == (e.Phase == None), "every pod has a spec")
	removalFailed := (e.Phase == Stopping || e.Phase == Removing) && e.Wait.Reason == RemovalFailed
	must(e.Wait == (Wait{}) || e.Phase == Waiting || e.Phase == Starting || removalFailed, "only a pod that waits has a wait")
	must(e.Phase != Waiting || !e.Wait.RetryAt.IsZero(), "a pod that waits is retried")
	must(e.Wait.RetryAt.Sub(e.Since) <= MaxRetryPeriod, "a pod is retried soon")
	must((e.Rejection != nil) == (e.Phase == Rejected), "a rejected pod, and no other, has a cause")
	must(e.Next == nil || e.Leaving(), "only a life that ends has a next one")
	must(!e.StopNext || e.Phase == Waiting || e.Phase == Starting || e.Next != nil, "only a life that has not begun is held beforehand")
	return broken
}

func TestEveryConstantHasItsName(t *testing.T) {
	for _, c := range []struct {
		names []string
		value func(uint8) fmt.Stringer
		kind  string
	}{
		{phaseNames[:], func(n uint8) fmt.Stringer { return Phase(n) }, "Phase"},
		{originNames[:], func(n uint8) fmt.Stringer { return Origin(n) }, "Origin"},
		{startModeNames[:], func(n uint8) fmt.Stringer { return StartMode(n) }, "StartMode"},
		{reasonNames[:], func(n uint8) fmt.Stringer { return Reason(n) }, "Reason"},
	} {
		for n, name := range c.names {
			if got := c.value(uint8(n)).String(); got != name || name == "" {
				t.Errorf("%s %d is %q, want %q", c.kind, n, got, name)
			}
		}
		if got, want := c.value(99).String(), c.kind+"(99)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
