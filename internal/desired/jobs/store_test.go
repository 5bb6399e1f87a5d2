package jobs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/desired/manifest"
)

var tick = &manifest.Job{Kind: "CronJob", Namespace: "default", Name: "tick"}

// document returns one of so many bytes, about.
func document(size int, text string) []byte {
	return fmt.Appendf(nil, `{"x":"%s%s"}`, text, strings.Repeat("x", size))
}

func openTick(t *testing.T, s Store) *Open {
	t.Helper()
	o, err := s.Open(tick)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The jobs of a CronJob that have one document share it in the file, and a job of another version has its own.
func TestEqualDocumentsAreWrittenOnce(t *testing.T) {
	s := Store{Dir: t.TempDir(), Instance: "agent"}
	o := openTick(t, s)
	r := o.Record
	for i := range 10 {
		r.Jobs = append(r.Jobs, Job{Name: fmt.Sprint("tick-", i), Document: document(1<<20, map[bool]string{true: "<a>", false: "b"}[i < 5])})
	}
	if err := o.Save(r); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(o.dir, fileName)); err != nil || info.Size() < 2<<20 || info.Size() > 3<<20 {
		t.Errorf("two documents of 1 MiB take %+v, %v", info, err)
	}
	o.Close()
	o = openTick(t, s)
	defer o.Close()
	for i, j := range o.Jobs {
		if !bytes.Equal(j.Document, r.Jobs[i].Document) {
			t.Errorf("%s has another document, of %d bytes", j.Name, len(j.Document))
		}
	}
}

// What the next process cannot read is not written: the Record before stays.
func TestRecordThatIsTooLargeIsNotSaved(t *testing.T) {
	s := Store{Dir: t.TempDir(), Instance: "agent"}
	o := openTick(t, s)
	before := o.Record
	before.Jobs = []Job{{Name: "tick-1", Document: document(1, "a")}}
	if err := o.Save(before); err != nil {
		t.Fatal(err)
	}
	large := before
	large.Jobs = []Job{{Name: "tick-1", Document: document(maxFile, "a")}}
	if err := o.Save(large); err == nil || !strings.Contains(err.Error(), "no more than 67108864 can be read") {
		t.Errorf("saved with error %v", err)
	}
	o.Close()
	o = openTick(t, s)
	defer o.Close()
	if !reflect.DeepEqual(o.Record, before) {
		t.Errorf("the Record is %+v, want %+v", o.Record, before)
	}
}

// A Record that is too large to be read is among those that are left, and can be removed; one that can be read is not.
func TestRecordThatIsTooLargeIsLeftAndRemoved(t *testing.T) {
	s := Store{Dir: t.TempDir(), Instance: "agent"}
	o := openTick(t, s)
	r := o.Record
	r.Jobs = []Job{{Name: "tick-1", Document: document(100<<10, "a")}}
	if err := o.Save(r); err != nil {
		t.Fatal(err)
	}
	o.Close()
	if removed, err := s.RemoveTooLarge(tick); removed || err != nil {
		t.Errorf("removed one that can be read: %t, %v", removed, err)
	}
	if err := os.Truncate(filepath.Join(s.Dir, Key(tick), fileName), maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(tick); err == nil {
		t.Error("it can be read")
	}
	if left := (Store{Dir: s.Dir, Instance: "other"}).Left(); len(left) != 0 {
		t.Errorf("another instance's are left: %v", left)
	}
	if left := s.Left(); len(left) != 1 || !reflect.DeepEqual(left[0], tick) {
		t.Errorf("left are %+v", left)
	}
	if removed, err := s.RemoveTooLarge(tick); !removed || err != nil {
		t.Errorf("removed %t, %v", removed, err)
	}
	if left := s.Left(); len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
}
