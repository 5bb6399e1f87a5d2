package flock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHolderOfALockIsTheProcessThatTookIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if pid := Holder(path); pid != os.Getpid() {
		t.Errorf("held by %d, want %d", pid, os.Getpid())
	}
	unlock()
	if pid := Holder(path); pid != 0 {
		t.Errorf("a lock that is free: held by %d", pid)
	}
	if pid := Holder(path + "-missing"); pid != 0 {
		t.Errorf("a file that does not exist: held by %d", pid)
	}
}

func TestWaitersAndOtherLocksAreNoHolders(t *testing.T) {
	const file = "fe:00:531"
	for lines, want := range map[string]int{
		"1: FLOCK  ADVISORY  WRITE 4888 fe:00:531 0 EOF":                                                                 4888,
		"1: FLOCK  ADVISORY  WRITE 7 fe:00:5310 0 EOF\n2: FLOCK  ADVISORY  WRITE 8 fe:00:531 0 EOF":                      8,
		"1: -> FLOCK  ADVISORY  WRITE 6681 fe:00:531 0 EOF":                                                              0,
		"1: POSIX  ADVISORY  WRITE 6681 fe:00:531 0 EOF":                                                                 0,
		"1: FLOCK  ADVISORY  WRITE 0 fe:00:531 0 EOF":                                                                    0,
		"1: FLOCK  ADVISORY  WRITE x fe:00:531 0 EOF\nshort\n" + strings.Repeat("x", 1<<17) + "\n9: FLOCK A W 9 " + file: 0,
		"": 0,
	} {
		if got := holderIn(strings.NewReader(lines), file); got != want {
			t.Errorf("%.80q: %d, want %d", lines, got, want)
		}
	}
}
