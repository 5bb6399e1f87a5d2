package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteReplacesContentAndPermissions(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, c := range []struct {
		content string
		perm    os.FileMode
	}{{"first", 0o600}, {"", 0o644}, {"third", 0o666}} {
		if err := Write(path, []byte(c.content), c.perm); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != c.content {
			t.Errorf("read %q, %v, want %q", got, err, c.content)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != c.perm {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, c.perm)
		}
	}
	onlyFile(t, dir, "f")
}

// A symlink at the path is replaced, never followed.
func TestWriteReplacesASymlink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(t.TempDir(), "target")
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink(target, filepath.Join(dir, "f"))); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "f"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "old" {
		t.Errorf("the symlink's target holds %q, %v", got, err)
	}
}

func TestWriteErrorLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "d"), []byte("x"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	onlyFile(t, dir, "d")
	if err := Write(filepath.Join(dir, "missing", "f"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}

func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != name {
		t.Errorf("%v, %v in the directory, want only %s", files, err, name)
	}
}
