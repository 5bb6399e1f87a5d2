package poddir

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPodKeepsTheNameOfItsDirectory(t *testing.T) {
	pods := t.TempDir()
	a, b := New(pods, "aaa"), New(pods, "bbb")
	if a.Name("u1") != "u1" || b.Name("u1") != "u1" {
		t.Errorf("plain: %s, %s", a.Name("u1"), b.Name("u1"))
	}
	b.Own("u1")
	if err := os.Mkdir(filepath.Join(pods, b.Name("u1")), 0o700); err != nil {
		t.Fatal(err)
	}
	// A later process of the same runtime finds it, one of another does not.
	if got := New(pods, "bbb").Name("u1"); got != "u1@bbb" {
		t.Errorf("a later process: %s", got)
	}
	if got := New(pods, "aaa").Name("u1"); got != "u1" {
		t.Errorf("another runtime: %s", got)
	}
	if err := os.Remove(filepath.Join(pods, "u1@bbb")); err != nil {
		t.Fatal(err)
	}
	if got := b.Name("u1"); got != "u1@bbb" {
		t.Errorf("after its directory was deleted: %s", got)
	}
	b.Forget("u1")
	if got := b.Name("u1"); got != "u1" {
		t.Errorf("after its removal: %s", got)
	}
}

func TestNameSaysWhosePodItIs(t *testing.T) {
	d := New(t.TempDir(), "aaa")
	for name, want := range map[string]struct {
		uid string
		ok  bool
	}{"u1": {"u1", true}, "u1@aaa": {"u1", true}, "u1@bbb": {"u1", false}, "u@1@aaa": {"u@1", true}} {
		if uid, ok := d.UID(name); string(uid) != want.uid || ok != want.ok {
			t.Errorf("%s: %s %v", name, uid, ok)
		}
	}
}
