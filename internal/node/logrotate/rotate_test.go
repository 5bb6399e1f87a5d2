package logrotate

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		name             string
		beside           string
		maxFiles         int
		remove, compress string
	}{
		{"nothing yet", "", 5, "", ""},
		{"the one before is compressed", "l.20260101-000000", 5, "", "l.20260101-000000"},
		{"what is compressed stays", "l.20260101-000000.gz l.20260102-000000", 5, "", "l.20260102-000000"},
		{"no more than there may be, with the log and what it becomes", "l.20260101-000000.gz l.20260102-000000.gz l.20260103-000000.gz l.20260104-000000", 5, "l.20260101-000000.gz", "l.20260104-000000"},
		{"two files: only the log and what it becomes", "l.20260101-000000", 2, "l.20260101-000000", ""},
		{"logrotate counts backwards", "l.1 l.2 l.10.gz", 4, "l.10.gz", "l.2 l.1"},
		{"left over from compressing", "l.20260101-000000 l.20260101-000000.gz l.20260102-000000.tmp", 5, "l.20260101-000000 l.20260102-000000.tmp", ""},
	} {
		s := plan(strings.Fields(c.beside), Policy{MaxFiles: c.maxFiles})
		if strings.Join(s.remove, " ") != c.remove || strings.Join(s.compress, " ") != c.compress {
			t.Errorf("%s: remove %v, compress %v; want %s, %s", c.name, s.remove, s.compress, c.remove, c.compress)
		}
	}
}

// Nothing that was logged is lost before its time.
func TestRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	policy := Policy{MaxSize: 10, MaxFiles: 3}
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	log := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	reopened := 0
	r := New(policy)
	rotate := func(err error) error {
		at = at.Add(time.Minute)
		return r.Rotate(t.Context(), path, at, func(context.Context) error {
			if reopened++; err == nil {
				log("")
			}
			return err
		})
	}
	files := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("files %v, want %v", got, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	log("small")
	must(rotate(nil))
	files("0.log")
	if reopened != 0 {
		t.Error("a small log was rotated")
	}
	log("first and large")
	if err := rotate(errors.New("no luck")); err == nil {
		t.Error("no error though the log was not reopened")
	}
	files("0.log")
	log("first and large")
	must(rotate(nil)) // reopens what was not reopened
	log("first and large")
	must(rotate(nil))
	files("0.log", "0.log.20260102-150805")
	log("second and large")
	must(rotate(nil))
	files("0.log", "0.log.20260102-150805.gz", "0.log.20260102-150905")
	f, err := os.Open(filepath.Join(filepath.Dir(path), "0.log.20260102-150805.gz"))
	must(err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	must(err)
	if text, err := io.ReadAll(unzipped); err != nil || string(text) != "first and large" {
		t.Errorf("compressed %q %v", text, err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v %v", info.Mode(), err)
	}
	log("third and large")
	must(rotate(nil))
	files("0.log", "0.log.20260102-150905.gz", "0.log.20260102-151005")
}

func TestRemoveRotatedFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"0.log", "0.log.20260102-150405", "0.log.20260102-150305.gz", "1.log", "10.log"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is nothing
		if err := Remove(filepath.Join(dir, "0.log")); err != nil {
			t.Error(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("left %v, %v; want those of other attempts", left, err)
	}
	if err := Remove(filepath.Join(dir, "none", "0.log")); err != nil {
		t.Error(err)
	}
}

func TestIsIdle(t *testing.T) {
	small := put(t, t.TempDir(), "0.log", "small")
	failed := New(Policy{MaxSize: 10})
	failed.notReopened[small] = true
	for _, c := range []struct {
		name    string
		rotator *Rotator
		path    string
		want    bool
	}{
		{"a small log", New(Policy{MaxSize: 10}), small, true},
		{"without a limit", New(Policy{MaxSize: -1}), small, true},
		{"a log of the limit", New(Policy{MaxSize: 5}), small, false},
		{"no log", New(Policy{MaxSize: 10}), small + ".gz", false},
		{"a directory", New(Policy{MaxSize: 10}), filepath.Dir(small), false},
		{"a log whose reopen failed", failed, small, false},
	} {
		if got := c.rotator.IsIdle(c.path); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
