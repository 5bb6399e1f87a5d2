package orphan

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/sys/proc"
)

// fakeProcess writes a process of a procfs; without a table it has a mountinfo
// that cannot be read.
func fakeProcess(t *testing.T, procfs proc.FS, pid, state, table string) {
	t.Helper()
	dir := filepath.Join(string(procfs), pid)
	if err := os.MkdirAll(filepath.Join(dir, "ns"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("stat", pid+" (app) "+state+" 1 0 0")
	write("status", "Name:\tapp\n")
	if err := os.Symlink("mnt:["+pid+"]", filepath.Join(dir, "ns", "mnt")); err != nil {
		t.Fatal(err)
	}
	if table != "" {
		write("mountinfo", table)
	} else if err := os.Mkdir(filepath.Join(dir, "mountinfo"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// theirs are the directories that tests look for.
var theirs = map[string]bool{"u1": true, "u2": true}

// A container can multiply its mount namespaces.
func TestMoreMountsThanAreReadAreAnError(t *testing.T) {
	procfs := proc.FS(t.TempDir())
	line := "40 39 8:1 / /data rw - ext4 /dev/sda rw\n"
	fakeProcess(t, procfs, "1", "S", strings.Repeat(line, 10))
	fakeProcess(t, procfs, "2", "S", strings.Repeat(line, 10))
	for limit, tooMany := range map[int]bool{20: false, 19: true, 9: true} {
		if _, err := dirsMountedOutside(procfs, theirs, int64(limit*len(line))); (err != nil) != tooMany {
			t.Errorf("%d lines: %v", limit, err)
		}
	}
}

// A directory is not removed on the word of mount tables that could not be read.
func TestUnreadableMountTablesAreAnError(t *testing.T) {
	procfs := proc.FS(t.TempDir())
	fakeProcess(t, procfs, "1", "S", "first")
	fakeProcess(t, procfs, "2", "Z", "") // a zombie has no mounts
	fakeProcess(t, procfs, "3", "S", "third")
	if _, err := dirsMountedOutside(procfs, theirs, maxMounts); err != nil {
		t.Fatal(err)
	}
	fakeProcess(t, procfs, "4", "S", "")
	if _, err := dirsMountedOutside(procfs, theirs, maxMounts); err == nil {
		t.Error("an unreadable table: no error")
	}
	if _, err := dirsMountedOutside(proc.FS(filepath.Join(t.TempDir(), "none")), theirs, maxMounts); err == nil {
		t.Error("no procfs: no error")
	}
}

// A process that has exited since it was listed has no mounts.
func TestMountTablesPassOverProcessesThatExited(t *testing.T) {
	procfs := proc.FS(t.TempDir())
	fakeProcess(t, procfs, "1", "S", "first")
	if err := os.Mkdir(filepath.Join(string(procfs), "2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := dirsMountedOutside(procfs, theirs, maxMounts); err != nil {
		t.Error(err)
	}
}

// A process is in no mount namespace for a moment before it becomes a zombie;
// the kernel says EINVAL then.
func TestProcessThatIsExitingHasNoMounts(t *testing.T) {
	procfs := proc.FS(t.TempDir())
	fakeProcess(t, procfs, "1", "R", "")
	for err, exited := range map[error]bool{syscall.EINVAL: true, syscall.EACCES: false, syscall.EIO: false} {
		if got := hasExited(procfs, 1, &os.PathError{Op: "open", Path: "mountinfo", Err: err}); got != exited {
			t.Errorf("%v: exited %t", err, got)
		}
	}
}
