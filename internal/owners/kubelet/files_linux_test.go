package kubelet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// Any container may run a process named kubelet, whose arguments name a FIFO, a
// device, a file without an end or a path out of its root directory.
func TestFilesBelowRootAreRegularAndBounded(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "root")
	at := func(name string) string { return filepath.Join(root, name) }
	if err := errors.Join(
		os.MkdirAll(at("etc/d"), 0o700), os.WriteFile(at("etc/config"), []byte("inside"), 0o600), os.WriteFile(at("etc/d/1.conf"), nil, 0o600),
		os.Symlink("/etc/config", at("absolute")), os.WriteFile(filepath.Join(top, "outside"), nil, 0o600), os.Symlink("../outside", at("out")),
		unix.Mkfifo(at("fifo"), 0o600), os.Symlink("/fifo", at("tofifo")), os.WriteFile(at("sparse"), nil, 0o600), os.Truncate(at("sparse"), 1<<40),
	); err != nil {
		t.Fatal(err)
	}
	f := filesBelow(root, "/")
	for _, path := range []string{"/etc/config", "/absolute", "/../etc/config"} {
		if b, err := f.read(path); err != nil || string(b) != "inside" {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	for _, path := range []string{"/fifo", "/tofifo", "/etc"} {
		if _, err := f.read(path); !errors.Is(err, bounded.ErrNotRegular) {
			t.Errorf("%s: %v", path, err)
		}
	}
	var tooLarge *bounded.TooLargeError
	if _, err := f.read("/sparse"); !errors.As(err, &tooLarge) {
		t.Errorf("a sparse file: %v", err)
	}
	if _, err := f.read("/out"); err == nil {
		t.Error("a link out of the root: no error")
	}
	if paths, err := f.glob("/etc/d", ".conf"); err != nil || len(paths) != 1 || paths[0] != "/etc/d/1.conf" {
		t.Errorf("a directory: %q, %v", paths, err)
	}
	if _, err := f.glob("/fifo", ".conf"); err == nil {
		t.Error("a FIFO in place of a directory: no error")
	}
	for i := range maxEntries {
		if err := os.WriteFile(at(fmt.Sprintf("etc/d/more%d.conf", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.glob("/etc/d", ".conf"); err == nil {
		t.Errorf("a directory of %d files: no error", maxEntries+1)
	}
}
