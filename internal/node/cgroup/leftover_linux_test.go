package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A leftover is a cgroup that podctl made and that has no process, in it or below; with
// what the runtime left below it is removed.
func TestRemoveLeftoverKillsNothing(t *testing.T) {
	m := onThisHost(t)
	pod := bestEffortPod("left")
	n := name{m.root, besteffort, "podleft"}
	if _, ok, err := m.Leftover("left"); ok || err != nil {
		t.Fatalf("a cgroup that does not exist: %v %v", ok, err)
	}
	if err := m.Ensure(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, if the test passes
	moved := false
	for _, dir := range dirs(t, m, n) {
		below := filepath.Join(dir, "container")
		if err := os.Mkdir(below, 0o755); err != nil {
			t.Fatal(err)
		}
		if !moved { // a cpuset without CPUs takes none
			moved = os.WriteFile(filepath.Join(below, "cgroup.procs"), fmt.Append(nil, cmd.Process.Pid), 0) == nil
		}
	}
	if !moved {
		t.Skip("cannot move a process into a cgroup here")
	}
	if _, ok, err := m.Leftover("left"); ok || err != nil {
		t.Errorf("with a process: leftover %v %v", ok, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	l, ok, err := m.Leftover("left")
	if !ok || err != nil {
		t.Fatalf("without a process: leftover %v %v", ok, err)
	}
	if err := m.RemoveLeftover(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if left := dirs(t, m, n); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := m.RemoveEmptyParents(); err != nil {
		t.Error(err)
	}
}

func TestRecreatedCgroupIsNoLeftover(t *testing.T) {
	m := onThisHost(t)
	pod, n := bestEffortPod("again"), name{m.root, besteffort, "podagain"}
	if err := m.Ensure(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	l, ok, err := m.Leftover("again")
	if !ok || err != nil {
		t.Fatalf("leftover %v %v", ok, err)
	}
	if err := m.Remove(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	if err := m.Ensure(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := m.RemoveLeftover(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if len(dirs(t, m, n)) == 0 {
		t.Error("the cgroup that was made again was removed")
	}
	// One that something else made is none.
	for _, dir := range dirs(t, m, n) {
		if err := unix.Removexattr(dir, markName); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := m.Leftover("again"); ok || err != nil {
		t.Errorf("without the mark: leftover %v %v", ok, err)
	}
	if err := m.Remove(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	if err := m.RemoveEmptyParents(); err != nil {
		t.Error(err)
	}
}
