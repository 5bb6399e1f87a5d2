package owner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLocksOfADeletedDirectoryAreTakenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	l, err := Open(dir, "agent")
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
	if living, err := Living(dir); len(living) != 1 || err != nil {
		t.Errorf("living %v, %v", living, err)
	}
	var taken *HeldError
	if _, err := Open(dir, "agent"); !errors.As(err, &taken) {
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
	l, err := Open(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Claim("web_default"), os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	other, err := Open(dir, "run-b")
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
