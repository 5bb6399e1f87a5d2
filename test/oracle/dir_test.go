package oracle

import (
	"os"
	"path/filepath"
	"testing"
)

// oracleDir is the directory of a subject's recordings: below PODCTL_ORACLE
// if that is set, else below testdata. The test fails if there is none.
func oracleDir(t *testing.T, subject string) string {
	t.Helper()
	root := os.Getenv("PODCTL_ORACLE")
	if root == "" {
		root = "testdata"
	}
	dir := filepath.Join(root, subject)
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatalf("read recordings of %s: %v", subject, err)
	}
	if !info.IsDir() {
		t.Fatalf("read recordings of %s: %s is not a directory", subject, dir)
	}
	return dir
}
