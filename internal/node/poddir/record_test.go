package poddir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestRecordSurvivesAndUnreadableMeansAbsent(t *testing.T) {
	dir := t.TempDir()
	if r := ReadRecord(dir); r.Stopped() {
		t.Errorf("absent record says stopped: %+v", r)
	}
	grace := int64(30)
	want := Record{StopRequested: time.Unix(1000, 0).UTC(), GraceSeconds: &grace, Phase: v1.PodFailed, Reason: "Evicted"}
	if err := WriteRecord(dir, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, ReadRecord(dir)); diff != "" {
		t.Error(diff)
	}
	if err := WriteRecord(filepath.Join(dir, "none"), want); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a pod without a directory: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("temporary files left: %v", files)
	}
	if err := os.WriteFile(filepath.Join(dir, RecordFile), []byte(`{"stopRequested":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := ReadRecord(dir); r.Stopped() {
		t.Errorf("torn record says stopped: %+v", r)
	}
}

// A stop continues after a crash with the rest of its grace; asking again does not
// prolong it, and asking for less shortens it.
func TestGraceOfARecordCountsFromTheFirstRequest(t *testing.T) {
	start := time.Unix(1000, 0)
	grace := func(n int64) *int64 { return &n }
	var r Record
	if !r.Stop(start, grace(30)) || r.Stop(start.Add(5*time.Second), grace(30)) || r.Stop(start.Add(5*time.Second), nil) {
		t.Errorf("only the first is news: %+v", r)
	}
	next := r.GraceLeft(start.Add(10 * time.Second))
	if r.Stop(start.Add(10*time.Second), next); *r.GraceLeft(start.Add(15 * time.Second)) != 15 {
		t.Errorf("after a crash at 10s and another at 15s: %d left, want 15", *r.GraceLeft(start.Add(15 * time.Second)))
	}
	if !r.Stop(start.Add(15*time.Second), grace(2)) || *r.GraceLeft(start.Add(16 * time.Second)) != 1 {
		t.Errorf("2s at 15s: %+v", r)
	}
	ended := Record{Phase: v1.PodFailed}
	if ended.Stop(start, grace(1)) || !ended.StopRequested.IsZero() {
		t.Errorf("a pod that has ended is not stopped: %+v", ended)
	}
}

func TestGraceLeftShrinksWithTimeAndNeverBelowASecond(t *testing.T) {
	start, grace := time.Unix(1000, 0), int64(30)
	r := Record{StopRequested: start, GraceSeconds: &grace}
	for after, want := range map[time.Duration]int64{0: 30, 10 * time.Second: 20, time.Hour: 1} {
		if got := r.GraceLeft(start.Add(after)); *got != want {
			t.Errorf("after %s: %d, want %d", after, *got, want)
		}
	}
	if got := (Record{StopRequested: start}).GraceLeft(start); got != nil {
		t.Errorf("no grace was given: got %d", *got)
	}
}

// A clock that was set back while no podctl ran gives a pod no more time
// than it had.
func TestGraceLeftDoesNotGrowWhenTheClockIsSetBack(t *testing.T) {
	start, grace := time.Unix(10000, 0), int64(30)
	r := Record{StopRequested: start, GraceSeconds: &grace}
	back := start.Add(-time.Hour)
	if got := r.GraceLeft(back); *got != 30 {
		t.Errorf("%d seconds left of 30", *got)
	}
	shorter := int64(10)
	if r.Stop(back, &shorter); *r.GraceLeft(back) != 10 || *r.GraceSeconds != 10 {
		t.Errorf("asked for 10: %d left of %d", *r.GraceLeft(back), *r.GraceSeconds)
	}
}

// Of several that sign a directory at the same time one gets it.
func TestSignGivesADirectoryToOneRuntime(t *testing.T) {
	pods := t.TempDir()
	dir := filepath.Join(pods, "u1")
	var signed [8]error
	var wg sync.WaitGroup
	for i := range signed {
		wg.Go(func() { signed[i] = SignRecord(dir, Record{Owner: OwnerTag("agent", fmt.Sprint(i)), Name: "web"}) })
	}
	wg.Wait()
	winner := ReadRecord(dir).Owner
	for i, err := range signed {
		taken, ok := errors.AsType[*TakenError](err)
		if won := winner == OwnerTag("agent", fmt.Sprint(i)); won != (err == nil) || !won && (!ok || taken.Owner != winner) {
			t.Errorf("%d: %v, the directory is of %s", i, err, winner)
		}
	}
	if left, _ := os.ReadDir(pods); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	// Its owner signs again, by another endpoint of the same runtime, too.
	again := ReadRecord(dir)
	again.StayStopped, again.RuntimeFingerprint = true, "f1"
	if err := SignRecord(dir, again); err != nil || !ReadRecord(dir).StayStopped {
		t.Errorf("again: %v", err)
	}
	again.Owner = OwnerTag("agent", "proxy")
	if err := SignRecord(dir, again); err != nil {
		t.Errorf("by a proxy: %v", err)
	}
}

func TestRecordOfTheSameRuntimeIsKnownByItsFingerprint(t *testing.T) {
	for _, c := range []struct {
		record    Record
		elsewhere bool
	}{
		{Record{}, false},
		{Record{Owner: "agent@here"}, false},
		{Record{Owner: "agent@there"}, true},
		{Record{Owner: "agent@there", RuntimeFingerprint: "f1"}, false},
		{Record{Owner: "agent@there", RuntimeFingerprint: "f2"}, true},
	} {
		if got := c.record.IsElsewhere("here", "f1"); got != c.elsewhere {
			t.Errorf("%+v: %v", c.record, got)
		}
		if c.record.Owner == "agent@there" && !c.record.IsElsewhere("here", "") {
			t.Errorf("%+v: not elsewhere for a runtime without a fingerprint", c.record)
		}
	}
}
