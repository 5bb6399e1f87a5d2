package owner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/proc"
)

func open(t *testing.T, dir, instance string) *Locks {
	t.Helper()
	l, err := Open(dir, instance, proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNameIsHeldByOneInstanceAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	a, b := open(t, dir, "run-a"), open(t, dir, "run-b")
	if err := a.Claim("web_default"); err != nil {
		t.Fatal(err)
	}
	if err := a.Claim("web_default"); err != nil {
		t.Errorf("claiming again what is held: %v", err)
	}
	var held *HeldError
	if err := b.Claim("web_default"); !errors.As(err, &held) || held.Owner != "run-a" {
		t.Fatalf("second instance: got %v, want held by run-a", err)
	}
	if who, alive, err := HolderOf(dir, "web_default"); who.Name != "run-a" || !alive || err != nil {
		t.Errorf("HolderOf = %v %v %v", who, alive, err)
	}
	if err := a.Release("web_default"); err != nil {
		t.Fatal(err)
	}
	if err := b.Claim("web_default"); err != nil {
		t.Errorf("after release: %v", err)
	}
	for _, l := range []*Locks{a, b} {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the last one out leaves the directory behind: %v", err)
	}
}

func TestInstanceNameIsUniqueAmongTheLiving(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, "agent")
	var held *HeldError
	if _, err := Open(dir, "agent", proc.Default); !errors.As(err, &held) {
		t.Fatalf("got %v, want *HeldError", err)
	}
	if alive, err := Alive(dir, "agent"); !alive || err != nil {
		t.Errorf("Alive = %v %v", alive, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if alive, err := Alive(dir, "agent"); alive || err != nil {
		t.Errorf("after close: Alive = %v %v", alive, err)
	}
}

// A holder that dies without letting go, as after SIGKILL, holds nothing.
func TestDeadHolderLetsGo(t *testing.T) {
	if dir := os.Getenv("OWNER_TEST_DIR"); dir != "" {
		l := open(t, dir, "run-dead")
		if err := l.Claim("web_default"); err != nil {
			t.Fatal(err)
		}
		os.Exit(7)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestDeadHolderLetsGo$")
	cmd.Env = append(os.Environ(), "OWNER_TEST_DIR="+dir)
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatalf("child: %v", err)
	}
	if _, alive, err := HolderOf(dir, "web_default"); alive || err != nil {
		t.Errorf("Holder: alive=%v %v", alive, err)
	}
	l := open(t, dir, "run-next")
	if err := l.Claim("web_default"); err != nil {
		t.Errorf("taking over from the dead: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left over from the dead: %v", left)
	}
}

// The directory comes and goes with its users, while others come.
func TestOpenWhileTheLastOneLeaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 50 {
				l, err := Open(dir, string(rune('a'+i)), proc.Default)
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Claims and releases race with each other and with the unlinking of lock
// files; never do two hold one name.
func TestNeverTwoHoldersUnderRaces(t *testing.T) {
	dir := t.TempDir()
	keep := open(t, dir, "keep") // so that the directory stays
	defer keep.Close()
	var holders, claims atomic.Int32
	var wg sync.WaitGroup
	wg.Go(func() { // asking never makes a claim fail
		for range 500 {
			if err := keep.Claim("free_one"); err != nil {
				t.Error(err)
			}
			if err := keep.Release("free_one"); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for range 500 {
			if _, _, err := HolderOf(dir, "free_one"); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() { // nor does sweeping
		for range 500 {
			sweep(dir)
		}
	})
	for i := range 8 {
		l := open(t, dir, string(rune('a'+i)))
		wg.Go(func() {
			for range 200 {
				if l.Claim("x_y") != nil {
					continue
				}
				claims.Add(1)
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders", n)
				}
				holders.Add(-1)
				if err := l.Release("x_y"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if claims.Load() == 0 {
		t.Error("the name was never held")
	}
}

func TestLastBeatTellsWhenAKilledInstanceDied(t *testing.T) {
	dir := t.TempDir()
	died := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	l := open(t, dir, "run-a")
	if err := l.WriteHeartbeat(died); err != nil {
		t.Fatal(err)
	}
	if at, err := LastHeartbeat(dir, "run-a"); err != nil || at != (Exit{}) {
		t.Errorf("of a living one: %v %v", at, err)
	}
	if living, err := LiveInstances(dir); err != nil || len(living) != 1 || living[0].Name != "run-a" {
		t.Errorf("Living = %v %v", living, err)
	}
	if err := l.self.Close(); err != nil { // as when it is killed
		t.Fatal(err)
	}
	if at, err := LastHeartbeat(dir, "run-a"); err != nil || !at.At.Equal(died) || at.ID != l.ID() {
		t.Errorf("of a dead one: %v %v, want %v", at, err, died)
	}
	if at, err := LastHeartbeat(dir, "run-b"); err != nil || at != (Exit{}) {
		t.Errorf("of one that never was: %v %v", at, err)
	}
	if living, err := LiveInstances(dir); err != nil || len(living) > 0 {
		t.Errorf("Living = %v %v", living, err)
	}
}

// One that asks for the holder and is suspended while it asks does not keep
// lockFile from returning.
// A podctl process that ends removes its run directory while others read it.
func TestDirectoryThatIsRemovedWhileItIsReadHasNoInstances(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if files, err := instanceFilesIn(d); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestLockThatIsBeingAskedAboutIsTriedABoundedNumberOfTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pod-a.lock")
	asking, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(asking.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(path, Holder{Name: "agent"}); !errors.Is(err, errHeld) {
		t.Errorf("asked about without end: %v", err)
	}
	if err := asking.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := lockFile(path, Holder{Name: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	if err := unlockFile(f); err != nil {
		t.Error(err)
	}
}
