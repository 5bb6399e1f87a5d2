package bounded

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadIsBoundedAndReadsRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, content := range map[string]string{"small": "12345", "large": "123456", "empty": ""} {
		if err := os.WriteFile(at(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.WriteFile(at("sparse"), nil, 0o600), os.Truncate(at("sparse"), 1<<40),
		os.Symlink("small", at("link")), os.Symlink("pipe", at("pipelink")), unix.Mkfifo(at("pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"small": "12345", "empty": "", "link": "12345"} {
		if got, err := Read(at(name), 5); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"large", "sparse"} {
		var tooLarge *TooLargeError
		if _, err := Read(at(name), 5); !errors.As(err, &tooLarge) || tooLarge.Max != 5 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"pipe", "pipelink", "."} {
		if _, err := Read(at(name), 5); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read("/dev/zero", 5); !errors.Is(err, ErrNotRegular) {
		t.Errorf("/dev/zero: %v", err)
	}
	if _, err := Read(at("none"), 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestOpenInFollowsSymlinksBelowTheRootOnly(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, "root", name) }
	if err := errors.Join(
		os.MkdirAll(at("sub"), 0o700), os.WriteFile(at("sub/file"), []byte("inside"), 0o600), os.WriteFile(filepath.Join(dir, "outside"), nil, 0o600),
		os.Symlink("file", at("sub/near")), os.Symlink("sub/near", at("twice")), os.Symlink("sub", at("dir")), os.Symlink("../sub/file", at("sub/up")),
		os.Symlink("../outside", at("out")), os.Symlink(at("sub/file"), at("absolute")), os.Symlink("loop", at("loop")), os.Symlink("/dev/zero", at("device")),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(at(""))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, inside := range map[string]bool{
		"sub/file": true, "sub/near": true, "twice": true, "dir/near": true, "sub/up": true, "dir/up": true,
		"out": false, "absolute": false, "loop": false, "device": false, "../outside": false, "sub": false, "none": false,
	} {
		f, err := OpenIn(root, name)
		if (err == nil) != inside {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if b, err := All(f, 10); string(b) != "inside" {
				t.Errorf("%s: %q, %v", name, b, err)
			}
			_ = f.Close()
		}
	}
}

// The open of a device can have effects: its driver is not reached.
func TestADeviceIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	// A character device without a driver: any open of it fails with ENXIO.
	if err := unix.Mknod(filepath.Join(dir, "device"), unix.S_IFCHR|0o600, int(unix.Mkdev(240, 77))); err != nil {
		t.Skipf("needs a device: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, below := OpenIn(root, "device")
	_, by := Open(filepath.Join(dir, "device"))
	for what, err := range map[string]error{"OpenIn": below, "Open": by} {
		if !errors.Is(err, ErrNotRegular) || strings.Contains(err.Error(), "no such device") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
