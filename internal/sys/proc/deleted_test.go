package proc

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// Every user can take many locks: podctl's may be behind what is read of them.
func TestMoreLocksThanAreReadAreAnError(t *testing.T) {
	dir := t.TempDir()
	line := "1: FLOCK  ADVISORY  READ 4711 00:2d:1234 0 EOF\n"
	locks := strings.Repeat(line, maxLocks/len(line)) + "2: FLOCK  ADVISORY  WRITE 5 00:2d:99 0 EOF\n"
	if err := os.WriteFile(filepath.Join(dir, "locks"), []byte(locks), 0o600); err != nil {
		t.Fatal(err)
	}
	if pids, err := FS(dir).LockHolders(); !errors.Is(err, ErrTooLarge) || len(pids) > 0 {
		t.Errorf("%v, %v", pids, err)
	}
}

func TestFilesOfAProcessAreThoseWhoseNamesMatch(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "7", "fd"), 0o700); err != nil {
		t.Fatal(err)
	}
	for fd := range 3 * descriptorsAtOnce {
		target := "/run/a.txt (deleted)"
		switch fd {
		case 1:
			target = "/run/open.lock"
		case 2 * descriptorsAtOnce:
			target = "/run/gone.lock (deleted)"
		}
		if err := os.Symlink(target, filepath.Join(dir, "7", "fd", strconv.Itoa(fd))); err != nil {
			t.Fatal(err)
		}
	}
	isLock := func(name string) bool { return filepath.Ext(name) == ".lock" }
	if files := FS(dir).DeletedFilesNamed(7, isLock); len(files) != 1 || files[0].Path != "/run/gone.lock" {
		t.Errorf("deleted: %+v", files)
	}
	if files := FS(dir).FilesNamed(7, isLock); len(files) != 1 || files[0].Path != "/run/open.lock" {
		t.Errorf("not deleted: %+v", files)
	}
}
