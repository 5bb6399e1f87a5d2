package owner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// Every user of the host can lock a file and delete it.
func TestDeletedLocksOfAProcessThatCannotBePodctlDoNotCount(t *testing.T) {
	if dir := os.Getenv("OWNER_TEST_HOLD"); dir != "" {
		if _, err := Open(dir, "agent", proc.Default); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("ready\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
		os.Exit(0)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: it starts a process of another user")
	}
	top := filepath.Join("/tmp", fmt.Sprintf("podctl-owner-test-%d", os.Getpid()))
	theirs, exe := filepath.Join(top, "theirs", "podctl", "id"), filepath.Join(top, "test")
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	if err := errors.Join(os.MkdirAll(filepath.Dir(theirs), 0o755), os.Chown(filepath.Dir(theirs), 65534, 65534), copyExecutable(exe)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestDeletedLocksOfAProcessThatCannotBePodctlDoNotCount$")
	cmd.Env, cmd.Dir = append(os.Environ(), "OWNER_TEST_HOLD="+theirs), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	testutil.Child(t, cmd)
	if err := os.RemoveAll(theirs); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "podctl")
	lookedAt := func(pid int) []proc.OpenFile {
		if pid == cmd.Process.Pid {
			t.Error("its files are looked at: it may have a million")
		}
		return nil
	}
	for range ReadLockHolders(proc.Default).openFiles(lookedAt) {
	}
	if lost, err := ReadLockHolders(proc.Default).DeletedLocks(run); err != nil || len(lost) > 0 {
		t.Errorf("%+v", lost)
	}
	locks, err := Open(filepath.Join(run, "id"), "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := locks.Close(); err != nil {
		t.Error(err)
	}
}

func copyExecutable(to string) error {
	from, err := os.Open(os.Args[0])
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

func TestOnlyAProcessWithTheRightsOfPodctlMayOwnPods(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("other users see their own processes only")
	}
	const all, some = "000001ffffffffff", "00000000a80425fb"
	for name, c := range map[string]struct {
		user, capabilities string
		want               bool
	}{
		"on the host or in a container": {"user:[1]", all, true},
		"without privileges":            {"user:[1]", some, false},
		"in a user namespace":           {"user:[2]", all, false},
	} {
		procfs := proc.FS(t.TempDir())
		for pid, user := range map[int]string{os.Getpid(): "user:[1]", 7: c.user} {
			dir := filepath.Join(string(procfs), strconv.Itoa(pid))
			if err := errors.Join(
				os.MkdirAll(filepath.Join(dir, "ns"), 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte("7 (podctl) S 1"), 0o600),
				os.WriteFile(filepath.Join(dir, "status"), []byte("CapEff:\t"+c.capabilities+"\n"), 0o600), os.Symlink(user, filepath.Join(dir, "ns", "user")),
			); err != nil {
				t.Fatal(err)
			}
		}
		if got := mayOwnPods(procfs, 7); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if mayOwnPods(proc.FS(t.TempDir()), 7) {
		t.Error("a process that has exited may own pods")
	}
}
