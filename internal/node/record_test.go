package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestRecordSurvivesAndUnreadableMeansAbsent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "uid")
	if r := readRecord(dir); r.stopped() {
		t.Errorf("absent record says stopped: %+v", r)
	}
	grace := int64(30)
	want := record{StopRequested: time.Unix(1000, 0).UTC(), GraceSeconds: &grace, Phase: v1.PodFailed, Reason: "Evicted"}
	if err := writeRecord(dir, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readRecord(dir)); diff != "" {
		t.Error(diff)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("temporary files left: %v", files)
	}
	if err := os.WriteFile(filepath.Join(dir, recordFile), []byte(`{"stopRequested":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := readRecord(dir); r.stopped() {
		t.Errorf("torn record says stopped: %+v", r)
	}
}

func TestGraceLeftShrinksWithTimeAndNeverBelowASecond(t *testing.T) {
	start, grace := time.Unix(1000, 0), int64(30)
	r := record{StopRequested: start, GraceSeconds: &grace}
	for after, want := range map[time.Duration]int64{0: 30, 10 * time.Second: 20, time.Hour: 1} {
		if got := r.graceLeft(start.Add(after)); *got != want {
			t.Errorf("after %s: %d, want %d", after, *got, want)
		}
	}
	if got := (record{StopRequested: start}).graceLeft(start); got != nil {
		t.Errorf("no grace was given: got %d", *got)
	}
}
