package testutil

import (
	"os"
	"path/filepath"
	"testing"
)

// EmptyProc returns a directory that stands for /proc on a machine without any process
// that holds a lock, whatever runs on this one.
func EmptyProc(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "locks"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
