package proc

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The kernel may leave a lock out of one read of many.
func TestLockHoldersAreThoseOfSeveralReads(t *testing.T) {
	many := strings.Repeat("1: FLOCK  ADVISORY  WRITE 7 00:01:1 0 EOF\n", lockPage/40)
	whole := many + "2: FLOCK  ADVISORY  WRITE 9 00:01:2 0 EOF\n3: FLOCK  ADVISORY  READ 10 00:01:2 0 EOF\n"
	for name, c := range map[string]struct {
		reads []string
		want  []int
	}{
		"one is left out first": {[]string{many, whole, many}, []int{7, 9}},
		"all are there":         {[]string{whole, whole}, []int{7, 9}},
		"few":                   {[]string{"1: FLOCK  ADVISORY  WRITE 7 00:01:1 0 EOF\n"}, []int{7}},
		"none":                  {[]string{""}, nil},
	} {
		n := 0
		pids, err := lockHolders(func() ([]byte, error) { n++; return []byte(c.reads[n-1]), nil })
		if err != nil || !slices.Equal(pids, c.want) || n != len(c.reads) {
			t.Errorf("%s: %v, %v after %d reads", name, pids, err, n)
		}
	}
}

func TestLocksThatCannotBeReadAreAnError(t *testing.T) {
	dir := t.TempDir()
	if pids, err := FS(dir).LockHolders(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %v", pids, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "locks"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if pids, err := FS(dir).LockHolders(); err != nil || len(pids) != 0 {
		t.Errorf("%v, %v", pids, err)
	}
}
