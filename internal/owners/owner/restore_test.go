package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

func TestLocksOfADeletedDirectoryAreTakenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	l, err := Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Claim("web_default"); err != nil {
		t.Fatal(err)
	}
	if restored, err := l.Restore(); restored || err != nil {
		t.Errorf("nothing was deleted: %v, %v", restored, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if restored, err := l.Restore(); !restored || err != nil {
		t.Errorf("restored %v, %v", restored, err)
	}
	if _, held, err := HolderOf(dir, "web_default"); !held || err != nil {
		t.Errorf("held %v, %v", held, err)
	}
	if living, err := LiveInstances(dir); len(living) != 1 || err != nil {
		t.Errorf("living %v, %v", living, err)
	}
	var taken *HeldError
	if _, err := Open(dir, "agent", proc.Default); !errors.As(err, &taken) {
		t.Errorf("another one of that name: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}

func TestLockThatAnotherHasTakenMeanwhileIsLeftToIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	l, err := Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Claim("web_default"), os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	other, err := Open(dir, "run-b", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Claim("web_default"); err != nil {
		t.Fatal(err)
	}
	var taken *HeldError
	if restored, err := l.Restore(); !restored || !errors.As(err, &taken) || taken.Owner != "run-b" {
		t.Errorf("restored %v, %v", restored, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if holder, held, err := HolderOf(dir, "web_default"); holder.Name != "run-b" || !held || err != nil {
		t.Errorf("%q %v, %v", holder, held, err)
	}
}

// A directory in which nothing was created or deleted still has all locks: nothing else
// is looked at, however many there are.
func TestLocksOfADirectoryThatDidNotChangeAreNotLookedAt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	l, err := Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	long := time.Now().Add(-time.Hour)
	restore := func(want bool) func() {
		return func() {
			if restored, err := l.Restore(); restored != want || err != nil {
				t.Fatalf("restored %v, %v; want %v", restored, err, want)
			}
		}
	}
	var work [2]float64
	for i, names := range []int{10, 500} {
		for k := range names {
			if err := l.Claim(fmt.Sprintf("p%d_default", k)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(dir, long, long.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
		restore(false)()
		work[i] = testing.AllocsPerRun(5, restore(false))
	}
	if work[0] != work[1] {
		t.Errorf("%v allocations for 10 locks, %v for 500", work[0], work[1])
	}
	if err := os.Remove(namePath(dir, "p3_default")); err != nil {
		t.Fatal(err)
	}
	restore(true)()
	restore(false)()
}

// A change right after another one may not show in the directory's time.
func TestLocksOfADirectoryThatHasJustChangedAreLookedAt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	l, err := Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Claim("web_default"); err != nil {
		t.Fatal(err)
	}
	if restored, err := l.Restore(); restored || err != nil {
		t.Fatalf("restored %v, %v", restored, err)
	}
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(namePath(dir, "web_default")), os.Chtimes(dir, before.ModTime(), before.ModTime())); err != nil {
		t.Fatal(err)
	}
	if restored, err := l.Restore(); !restored || err != nil {
		t.Errorf("restored %v, %v", restored, err)
	}
}
