package control

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
)

func TestDeadSocketsAreSkippedByFindAndRemovedByListen(t *testing.T) {
	dir := t.TempDir()
	dead := Path(dir, "run-dead")
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(dir, nil); err != nil || len(found) != 0 {
		t.Errorf("Find: %v %v", found, err)
	}
	locks, err := owner.Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	if err := os.WriteFile(Path(dir, "agent"), nil, 0o600); err != nil { // of an agent that was killed
		t.Fatal(err)
	}
	l, err := Listen(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(dir + "/*run-dead*"); len(left) > 0 {
		t.Errorf("left of the dead: %v", left)
	}
	if found, err := Find(dir, nil); err != nil || len(found) != 1 {
		t.Errorf("Find beside a living one: %v %v", found, err)
	}
	removeDeadSockets(dir) // by another that starts: the living keep theirs
	if _, err := os.Stat(Path(dir, "agent")); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestSocketPathThatIsLongOrAPattern(t *testing.T) {
	for name, odd := range map[string]string{"long": strings.Repeat("d", 120), "a pattern": "[run"} {
		t.Run(name, func(t *testing.T) { findAt(t, filepath.Join(t.TempDir(), odd)) })
	}
}

// findAt fails the test if a podctl in dir cannot be found and asked.
func findAt(t *testing.T, dir string) {
	t.Helper()
	locks, err := owner.Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	l, err := Listen(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, Handler(&fakeHost{}, nil, nil), nil)
	defer s.Close()
	found, err := Find(dir, nil)
	if err != nil || len(found) != 1 {
		t.Fatalf("Find: %v %v", found, err)
	}
	if _, err := found[0].Workers(t.Context()); err != nil {
		t.Error(err)
	}
}
