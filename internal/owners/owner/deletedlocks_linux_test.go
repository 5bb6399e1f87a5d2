package owner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// A living process whose locks were deleted owns what it owned: its names cannot be
// claimed, its directory not be opened, until it has restored them or died.
func TestDeletedLocksOfALivingProcessStillCount(t *testing.T) {
	if dir := os.Getenv("OWNER_TEST_DIR"); dir != "" {
		l, err := Open(dir, "agent", proc.Default)
		if err == nil {
			err = l.Claim("web_default")
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString("ready\n"); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
		os.Exit(0)
	}
	run := t.TempDir()
	dir := filepath.Join(run, "id")
	pid, end := agentWithWeb(t, dir)
	before, err := Open(dir, "run-before", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Open(dir, "agent", proc.Default); !errors.As(err, &held) || !held.Deleted || held.Owner != "agent" || held.PID != pid {
		t.Errorf("open: %v", err)
	}
	if _, err := before.Restore(); err != nil {
		t.Error(err)
	}
	if err := before.Claim("web_default"); !errors.As(err, &held) || !held.Deleted || held.Owner != "agent" {
		t.Errorf("claim: %v", err)
	}
	if err := before.Claim("other_default"); err != nil {
		t.Errorf("claim of a name that it did not have: %v", err)
	}
	errs := before.ClaimAll([]string{"web_default", "third_default", "web_default"})()
	if !errors.As(errs[0], &held) || !held.Deleted || errs[1] != nil || !errors.As(errs[2], &held) {
		t.Errorf("claim of several: %v", errs)
	}
	lost, err := ReadLockHolders(proc.Default).DeletedLocks(run)
	if err != nil {
		t.Fatal(err)
	}
	if h, held := lost.Holder(dir, "web_default"); !held || h.Name != "agent" || h.ID == "" {
		t.Errorf("%+v %v", h, held)
	}
	if living := lost.LiveInstances(dir); len(living) != 1 || living[0].Name != "agent" {
		t.Errorf("%+v", living)
	}
	if others, err := ReadLockHolders(proc.Default).DeletedLocks(filepath.Join(run, "elsewhere")); err != nil || len(others) > 0 {
		t.Errorf("of another run directory: %+v", others)
	}
	namesake := filepath.Join(t.TempDir(), filepath.Base(run))
	if err := os.Mkdir(namesake, 0o700); err != nil {
		t.Fatal(err)
	}
	if others, err := ReadLockHolders(proc.Default).DeletedLocks(namesake); err != nil || len(others) > 0 {
		t.Errorf("of another run directory of the same name: %+v", others)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if err := before.Claim("web_default"); err != nil {
		t.Errorf("after its death: %v", err)
	}
	if err := before.Close(); err != nil {
		t.Error(err)
	}
}

// agentWithWeb runs the instance "agent" in another process, which has claimed
// "web_default" in dir, until end is called.
func agentWithWeb(t *testing.T, dir string) (pid int, end func() error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestDeletedLocksOfALivingProcessStillCount$")
	cmd.Env = append(os.Environ(), "OWNER_TEST_DIR="+dir)
	_, end = testutil.Child(t, cmd)
	return cmd.Process.Pid, end
}

// A list of holders that was read long ago knows nothing of the processes that came later.
func TestHoldersThatWereReadLongAgoAreReadAgain(t *testing.T) {
	recent := LockHolders{pids: []int{1}, at: time.Now()}
	if got := recent.recent(); !slices.Equal(got.pids, recent.pids) {
		t.Errorf("read again at once: %v", got.pids)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, old := range []LockHolders{{procs: proc.Default}, {procs: proc.Default, at: time.Now().Add(-holdersMaxAge)}} {
		if got := old.recent(); !slices.Contains(got.pids, os.Getpid()) {
			t.Errorf("%v: %v lacks this process", old, got.pids)
		}
	}
}

// While nothing is created in the directory or deleted from it, no lock can have been
// deleted from it that was not held before: the kernel is not asked again.
func TestHoldersCountForAsLongAsTheDirectoryDoesNotChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "id")
	l := open(t, dir, "a")
	defer l.Close()
	long := time.Now().Add(-time.Hour)
	whole := func() {
		t.Helper()
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Restore(); err != nil {
			t.Fatal(err)
		}
	}
	whole()
	if got := l.holders; !slices.Contains(got.pids, os.Getpid()) {
		t.Errorf("a directory that was seen to be whole: holders %v lack this process", got.pids)
	}
	l.holders = LockHolders{procs: proc.Default, at: long}
	_, end := agentWithWeb(t, dir)
	if err := os.Remove(namePath(dir, "web_default")); err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if err := l.Claim("web_default"); !errors.As(err, &held) || !held.Deleted || held.Owner != "agent" {
		t.Errorf("a lock that was taken and deleted after the directory was seen to be whole: %v", err)
	}
	if err := os.Chtimes(dir, long, long); err != nil { // as if nothing had happened
		t.Fatal(err)
	}
	if err := l.Claim("web_default"); err != nil {
		t.Errorf("holders were read again: %v", err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
