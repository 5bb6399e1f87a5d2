package orphan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/proc"
)

// A mount table that podctl is not permitted to read is unknown, not empty.
func TestMountTablesWithoutPermissionAreAnError(t *testing.T) {
	procfs := proc.FS(t.TempDir())
	fakeProcess(t, procfs, "1", "S", "first")
	fakeProcess(t, procfs, "2", "S", "second")
	if err := os.Chmod(filepath.Join(string(procfs), "2", "mountinfo"), 0); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []string{"1", "2"} {
		for _, name := range []string{"stat", "status"} {
			if err := os.Chmod(filepath.Join(string(procfs), pid, name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(filepath.Join(string(procfs), "1", "mountinfo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(string(procfs)), 0o755); err != nil { // TempDir's
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		const unprivileged = 65534
		if _, err := unix.SetfsuidRetUid(unprivileged); err != nil {
			done <- err
			return
		}
		_, err := dirsMountedOutside(procfs, theirs, maxMounts)
		done <- err
	}()
	if err := <-done; !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a table that must not be read: %v", err)
	}
}
