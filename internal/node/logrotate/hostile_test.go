package logrotate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var at = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// put writes a file of a directory.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

// list returns the names of the files in a directory, by a space.
func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A runtime writes to a file without a name after rm, or to one that a rotation renamed
// before podctl was killed.
func TestMissingLogIsReopened(t *testing.T) {
	for _, policy := range []Policy{{MaxSize: 10, MaxFiles: 5}, {MaxSize: -1}} {
		path := filepath.Join(t.TempDir(), "0.log")
		err := New(policy).Rotate(t.Context(), path, at, func(context.Context) error {
			put(t, filepath.Dir(path), "0.log", "")
			return nil
		})
		if err != nil || list(t, filepath.Dir(path)) != "0.log" {
			t.Errorf("%+v: %v, %s", policy, err, list(t, filepath.Dir(path)))
		}
	}
}

func TestLogThatReopenDoesNotMakeIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	if err := New(Policy{MaxSize: 10, MaxFiles: 5}).Rotate(t.Context(), path, at, func(context.Context) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// An answer can be lost after the runtime has made the new file.
func TestFailedReopenKeepsNewFile(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "0.log", "old and large")
	r := New(Policy{MaxSize: 10, MaxFiles: 5})
	lost := errors.New("deadline exceeded")
	err := r.Rotate(t.Context(), path, at, func(context.Context) error {
		put(t, dir, "0.log", "new")
		return lost
	})
	if !errors.Is(err, lost) || text(t, path) != "new" || text(t, path+".20260102-150405") != "old and large" {
		t.Errorf("%v, %s", err, list(t, dir))
	}
	reopened := 0
	for range 2 { // a small log is not reopened again
		if err := r.Rotate(t.Context(), path, at, func(context.Context) error { reopened++; return nil }); err != nil {
			t.Error(err)
		}
	}
	if reopened != 1 {
		t.Errorf("reopened %d times, want once: the runtime may still write to the old file", reopened)
	}
}

// A container can plant these where it has the directory of its logs.
func TestPlantedFilesAreNotOpened(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := put(t, outside, "shadow", "secret")
	path := put(t, dir, "0.log", "old and large")
	put(t, dir, "0.log.20260101-000000", "older")
	for name, to := range map[string]string{"0.log.link": secret, "0.log.dir": outside, "0.log.20260101-000000.tmp": secret, "0.log.20260102-150405.gz": secret} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "0.log.fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "0.log.sub", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := New(Policy{MaxSize: 10, MaxFiles: 3}).Rotate(t.Context(), path, at, func(context.Context) error {
		put(t, dir, "0.log", "")
		return nil
	})
	if err == nil || !errors.Is(err, os.ErrExist) {
		t.Errorf("%v, want that the file to compress to is there", err)
	}
	if text(t, path+".20260102-150405") != "old and large" || text(t, path) != "" {
		t.Errorf("not rotated: %s", list(t, dir))
	}
	if text(t, secret) != "secret" || list(t, outside) != "shadow" {
		t.Errorf("%q, %s", text(t, secret), list(t, outside))
	}
}

func TestLogThatIsNoRegularFileIsNotReopened(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"link": func(path string) error { return os.Symlink("/etc/hostname", path) },
		"none": func(path string) error { return os.Symlink("/nonexistent/file", path) },
		"fifo": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"dir":  func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		path := filepath.Join(t.TempDir(), "0.log")
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		err := New(Policy{MaxFiles: 5}).Rotate(t.Context(), path, at, func(context.Context) error {
			t.Errorf("%s: reopened", name)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file of holes takes a container nothing, and podctl hours.
func TestHugeFileIsNotCompressed(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "0.log", "old and large")
	huge := put(t, dir, "0.log.20260101-000000", "")
	if err := os.Truncate(huge, minCompressLimit+1); err != nil {
		t.Fatal(err)
	}
	err := New(Policy{MaxSize: 10, MaxFiles: 5}).Rotate(t.Context(), path, at, func(context.Context) error { return nil })
	if err == nil || list(t, dir) != "0.log.20260101-000000 0.log.20260102-150405" {
		t.Errorf("%v, %s", err, list(t, dir))
	}
}

func TestCompressionEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "0.log.20260101-000000", "older")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.compress(ctx, filepath.Base(path), minCompressLimit); !errors.Is(err, context.Canceled) || list(t, dir) != "0.log.20260101-000000" {
		t.Errorf("%v, %s", err, list(t, dir))
	}
}

func TestRemoveLeavesTargetsOfLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := put(t, outside, "shadow", "secret")
	for _, name := range []string{"0.log", "0.log.link"} {
		if err := os.Symlink(secret, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Remove(filepath.Join(dir, "0.log")); err != nil || list(t, dir) != "" || text(t, secret) != "secret" {
		t.Errorf("%v, %s", err, list(t, dir))
	}
}

func TestForgetExceptForgetsOtherLogs(t *testing.T) {
	r := New(Policy{})
	r.notReopened["gone"], r.notReopened["kept"] = true, true
	r.ForgetExcept(map[string]bool{"kept": true})
	if !slices.Equal([]bool{r.notReopened["gone"], r.notReopened["kept"]}, []bool{false, true}) {
		t.Error(r.notReopened)
	}
}

// A container that has the directory above that of its logs can put a link to those of
// another pod in its place.
func TestDirectoriesOfOtherPodsAreLeftAlone(t *testing.T) {
	for link, to := range map[string]string{"own/c": "../other/c", "own": "other"} {
		root := t.TempDir()
		for _, dir := range []string{filepath.Dir(filepath.Join(root, link)), filepath.Join(root, "other", "c")} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(root, "other", "c")
		put(t, other, "0.log", "of another pod")
		put(t, other, "0.log.20260101-000000", "older")
		path := filepath.Join(root, "own", "c", "0.log")
		err := New(Policy{MaxSize: 10, MaxFiles: 2}).Rotate(t.Context(), path, at, func(context.Context) error {
			t.Errorf("%s: reopened", link)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "not a directory") {
			t.Errorf("%s: %v", link, err)
		}
		if New(Policy{MaxSize: 100}).IsIdle(path) {
			t.Errorf("%s: its log is idle", link)
		}
		if err := Remove(path); err == nil {
			t.Errorf("%s: removed", link)
		}
		if names := list(t, other); names != "0.log 0.log.20260101-000000" {
			t.Errorf("%s: left %s", link, names)
		}
	}
}
