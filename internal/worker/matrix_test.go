package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/testkit/testutil"
)

const matrixFile = "matrix.txt"

var matrixNow = time.Unix(2_000_000, 0).UTC()

// situation is a row: a pod in a phase, with what is in flight.
type situation struct {
	name  string
	names NameView
	// before leads there from an unknown pod.
	before []Event
}

func matrixSpec(change ...func(*v1.Pod)) *v1.Pod {
	p := testPod("u1", "web", seconds(30))
	for _, c := range change {
		c(p)
	}
	return p
}

func situations(exclusive bool) []situation {
	var (
		taken     = NameView{Holder: "other", Next: "u1"}
		create    = Update{Pod: matrixSpec(), Type: TypeCreate, Exclusive: exclusive}
		pending   = Update{Pod: matrixSpec(), Type: TypeUpdate, Exclusive: exclusive}
		kill      = Kill{Pod: matrixSpec(), Exclusive: exclusive, Grace: seconds(20), Waiter: 1}
		runtime   = KillRuntime{Pod: &pod.Pod{UID: "u1", Name: "web", Namespace: "ns"}, Exclusive: exclusive}
		syncOK    = OpDone{Op: OpSync}
		syncEnded = OpDone{Op: OpSync, Terminal: true}
		down      = OpDone{Op: OpTerminate}
		cleaned   = OpDone{Op: OpCleanup}
		boom      = errors.New("boom")
	)
	rows := []situation{
		{"unknown", NameView{}, nil},
		{"syncing, idle", NameView{}, []Event{create, syncOK}},
		{"syncing, Sync running", NameView{}, []Event{create}},
		{"syncing, Sync running, update pending", NameView{}, []Event{create, pending}},
		{"terminating, Sync running", NameView{}, []Event{create, kill}},
		{"terminating, idle", NameView{}, []Event{create, syncOK, kill, OpDone{Op: OpTerminate, Err: boom}}},
		{"terminating, Terminate running", NameView{}, []Event{create, syncOK, kill}},
		{"terminating by itself, Terminate running", NameView{}, []Event{create, syncEnded}},
		{"terminating runtime-only, idle", NameView{}, []Event{runtime, OpDone{Op: OpTerminateRuntime, Err: boom}}},
		{"terminating runtime-only, running", NameView{}, []Event{runtime}},
		{"terminated, idle", NameView{}, []Event{create, syncOK, kill, down, OpDone{Op: OpCleanup, Err: boom}}},
		{"terminated, Cleanup running", NameView{}, []Event{create, syncOK, kill, down}},
		{"finished", NameView{}, []Event{create, syncOK, kill, down, cleaned}},
		{"finished, created again", NameView{}, []Event{create, syncOK, kill, down, create, cleaned}},
	}
	if exclusive {
		rows = append(rows,
			situation{"unknown, name taken", taken, nil},
			situation{"syncing, waits for its name", taken, []Event{create}},
			situation{"finished, never started", taken, []Event{create, kill}},
			situation{"syncing, adopted beside the holder", taken, []Event{Adopt{Pod: matrixSpec(), Exclusive: true}, pending}},
		)
	}
	return rows
}

// matrixEvents are the columns. Op is the operation in flight.
func matrixEvents(exclusive bool, running Op) []struct {
	name string
	ev   Event
} {
	empty := func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }
	deleted := func(p *v1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: matrixNow}, seconds(3)
	}
	return []struct {
		name string
		ev   Event
	}{
		{"adopt", Adopt{Pod: matrixSpec(), Exclusive: exclusive}},
		{"create", Update{Pod: matrixSpec(), Type: TypeCreate, Exclusive: exclusive}},
		{"update", Update{Pod: matrixSpec(), Type: TypeUpdate, Exclusive: exclusive}},
		{"sync", Update{Pod: matrixSpec(), Type: TypeSync, Exclusive: exclusive}},
		{"update deleted, grace 3", Update{Pod: matrixSpec(deleted), Type: TypeUpdate, Exclusive: exclusive}},
		{"update Succeeded", Update{Pod: matrixSpec(empty), Type: TypeUpdate, Exclusive: exclusive}},
		{"update Succeeded, runtime empty", Update{Pod: matrixSpec(empty), Type: TypeUpdate, Exclusive: exclusive, RuntimeEmpty: true}},
		{"kill", Kill{Pod: matrixSpec(), Exclusive: exclusive, Waiter: 2}},
		{"kill, grace 5", Kill{Pod: matrixSpec(), Exclusive: exclusive, Grace: seconds(5), Waiter: 2}},
		{"kill, grace 50", Kill{Pod: matrixSpec(), Exclusive: exclusive, Grace: seconds(50), Waiter: 2}},
		{"evict", Kill{Pod: matrixSpec(), Exclusive: exclusive, Evict: true, Status: StatusOverride{Phase: v1.PodFailed, Reason: "Evicted", Message: "low on memory"}}},
		{"kill-runtime", KillRuntime{Pod: &pod.Pod{UID: "u1", Name: "web", Namespace: "ns"}, Exclusive: exclusive}},
		{"due", Due{}},
		{"done: ok", OpDone{Op: running}},
		{"done: terminal", OpDone{Op: running, Terminal: true}},
		{"done: error", OpDone{Op: running, Err: errors.New("bang")}},
		{"done: cancelled", OpDone{Op: running, Err: context.Canceled}},
		{"done: of another operation", OpDone{Op: OpSync + (running+1)%OpCleanup}},
		{"reconcile desired", Reconcile{Desired: true}},
		{"reconcile undesired", Reconcile{}},
	}
}

// TestMatrix records what every event does in every situation: state and
// effects.
func TestMatrix(t *testing.T) {
	var text strings.Builder
	for _, exclusive := range []bool{false, true} {
		for _, row := range situations(exclusive) {
			state := State{}
			for _, ev := range row.before {
				state, _ = Step(state, row.names, matrixNow.Add(-time.Hour), ev)
			}
			fmt.Fprintf(&text, "== %s", row.name)
			if exclusive {
				fmt.Fprint(&text, ", exclusive")
			}
			fmt.Fprintf(&text, "\n   %s\n", state)
			for _, column := range matrixEvents(exclusive, state.Running) {
				after, effects := Step(state, row.names, matrixNow, column.ev)
				checkTimes(t, row.name+" / "+column.name, state, after)
				if after.String() == state.String() && len(effects) == 0 {
					fmt.Fprintf(&text, "%s: nothing\n", column.name)
					continue
				}
				fmt.Fprintf(&text, "%s: %s\n%s", column.name, after, describe(effects))
			}
			fmt.Fprintln(&text)
		}
	}
	testutil.Golden(t, *update, "testdata/"+matrixFile, text.String())
}

// checkTimes asserts the times, which the file leaves out.
func checkTimes(t *testing.T, cell string, before, after State) {
	t.Helper()
	expect := func(what string, changed bool, was, is time.Time) {
		want := was
		if changed {
			want = matrixNow
		}
		if !is.Equal(want) {
			t.Errorf("%s: %s is %v, not %v", cell, what, is, want)
		}
	}
	if after.Phase == Unknown {
		return
	}
	ended := before.Running != OpNone && (after.Running != before.Running || after.LastError != before.LastError)
	expect("Since", after.Phase != before.Phase, before.Since, after.Since)
	if after.Running == OpNone {
		expect("RunningSince", false, time.Time{}, after.RunningSince)
	} else if ended || before.Running == OpNone {
		expect("RunningSince", true, before.RunningSince, after.RunningSince)
	}
	if ended {
		expect("LastDone", true, before.LastDone, after.LastDone)
	}
}

func TestConstantNames(t *testing.T) {
	cases := []struct {
		value fmt.Stringer
		want  string
	}{
		{Unknown, "unknown"}, {Syncing, "syncing"}, {Terminating, "terminating"}, {Terminated, "terminated"}, {Finished, "finished"}, {Phase(9), "Phase(9)"},
		{OpNone, "none"}, {OpSync, "sync"}, {OpTerminate, "terminate"}, {OpTerminateRuntime, "terminate-runtime"}, {OpCleanup, "cleanup"}, {Op(9), "Op(9)"},
		{TypeSync, "sync"}, {TypeUpdate, "update"}, {TypeCreate, "create"}, {UpdateType(9), "UpdateType(9)"},
		{CauseNone, "none"}, {CauseCompleted, "completed"}, {CauseKilled, "killed"}, {CauseEvicted, "evicted"}, {CauseDeleted, "deleted"},
		{CausePhase, "phase"}, {CauseRuntimeOnly, "runtime-only"}, {CauseOrphaned, "orphaned"}, {Cause(9), "Cause(9)"},
		{NameJoin, "join"}, {NameAwait, "await"}, {NameTake, "take"}, {NameHold, "hold"}, {NameLeave, "leave"}, {NameChange(9), "NameChange(9)"},
	}
	for _, c := range cases {
		if got := c.value.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	for i, names := range [][]string{phaseNames[:], opNames[:], updateTypeNames[:], causeNames[:], nameChanges[:]} {
		for value, name := range names {
			if name == "" {
				t.Errorf("constant %d of type %d has no name", value, i)
			}
		}
	}
}

func TestPhasesMatchKubeletNames(t *testing.T) {
	for phase, want := range map[Phase]string{Unknown: "", Syncing: "sync", Terminating: "terminating", Terminated: "terminated", Finished: "terminated"} {
		if got := phase.Lifecycle(); got != want {
			t.Errorf("%s: got %q, want %q", phase, got, want)
		}
	}
}
