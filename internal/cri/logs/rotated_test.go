package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// writeAt appends lines of one second each, from a second on.
func writeAt(t failer, name string, second int, texts ...string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, text := range texts {
		at := time.Date(2026, 1, 2, 10, 0, second+i, 0, time.UTC)
		if _, err := fmt.Fprintf(f, "%s stdout F %s\n", at.Format(time.RFC3339), text); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever program rotated a log, its files are read from the oldest to the newest.
func TestRotatedFilesOfOtherPrograms(t *testing.T) {
	want := []string{"a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"}
	for name, suffixes := range map[string][]string{ // oldest first
		"logrotate":                          {".3", ".2", ".1"},
		"logrotate, many":                    {".11", ".10", ".9"},
		"logrotate from 0":                   {".2", ".1", ".0"},
		"logrotate, dateext":                 {"-20260101", "-20260102", "-20260103"},
		"logrotate, dateext by the hour":     {"-2026010201", "-2026010202", "-2026010203"},
		"logrotate, a dateformat of its own": {"-31-12-2025", "-01-01-2026", "-02-01-2026"},
		"logrotate, dateformat with seconds": {".1767225600", ".1767225700", ".1767225800"},
		"kubelet":                            {".20260101-000000", ".20260102-000000", ".20260103-000000"},
		"kubelet, when summer time ends":     {".20261025-023000", ".20261025-021000", ".20261025-025000"},
		"both, logrotate first":              {".2", ".1", ".20260103-000000"},
		"both, the kubelet first":            {".20260103-000000", ".2", ".1"},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "0.log")
			for i, suffix := range append(suffixes, "") {
				writeAt(t, log+suffix, 2*i, want[2*i:2*i+2]...)
			}
			if got := read(t, open(t, log, All)); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if got := read(t, open(t, log, Options{Tail: 3})); !slices.Equal(got, want[5:]) {
				t.Errorf("the last 3: %q, want %q", got, want[5:])
			}
			if got := read(t, open(t, log, Options{Tail: 5})); !slices.Equal(got, want[3:]) {
				t.Errorf("the last 5: %q, want %q", got, want[3:])
			}
		})
	}
}

func TestOtherFilesBesideLogAreNotRead(t *testing.T) {
	log := logFile(t, "stdout F one")
	for _, other := range []string{"-note", "s", "-", ".1.tmp", ".2.gz"} {
		write(t, log+other, "stdout F other")
	}
	if got := read(t, open(t, log, All)); !slices.Equal(got, []string{"one"}) {
		t.Errorf("%q", got)
	}
}

// A container that has the directory of its log can plant any file there.
func TestPlantedFilesBesideLogAreNotOpened(t *testing.T) {
	log := logFile(t, "stdout F one")
	secret := filepath.Join(t.TempDir(), "shadow")
	write(t, secret, "stdout F secret")
	if err := os.Symlink(secret, log+".1"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(log+".2", 0o600); err != nil {
		t.Fatal(err)
	}
	var problems []error
	r := open(t, log, Options{Tail: -1, Problem: func(err error) { problems = append(problems, err) }})
	if got := read(t, r); !slices.Equal(got, []string{"one"}) || len(problems) != 2 {
		t.Errorf("%q, %v", got, problems)
	}
}

func TestTooManyRotatedFilesAreReported(t *testing.T) {
	log := logFile(t, "stdout F one")
	for n := range maxRotated + 1 {
		write(t, fmt.Sprintf("%s.%d", log, n))
	}
	var problems []error
	r := open(t, log, Options{Tail: -1, Problem: func(err error) { problems = append(problems, err) }})
	if got := read(t, r); !slices.Equal(got, []string{"one"}) || len(problems) != 1 {
		t.Errorf("%q, %v", got, problems)
	}
}

// Following returns each line once and in order, although logrotate gives every file
// another name, compresses what was read, or copies the log and truncates it.
func TestFollowAcrossLogrotate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "logs")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "0.log")
		n, size, seen := 0, 0, 0 // lines; those of the newest file; how many of these were read
		var want, got []string
		line := func(*rapid.T) {
			n, size = n+1, size+1
			writeAt(t, path, n, fmt.Sprintf("line-%d", n))
			want = append(want, fmt.Sprintf("line-%d", n))
		}
		line(t)
		r, err := Open(path, Options{Tail: -1, Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		seen = size
		look := func(t *rapid.T) { got, seen = append(got, read(t, r)...), size }
		const most = 6
		name := func(i int) string { return fmt.Sprintf("%s.%d", path, i) }
		shift := func() {
			_ = os.Remove(name(most + 1)) // if there is one
			for i := most; i > 0; i-- {
				_ = os.Rename(name(i), name(i+1)) // if there is one
			}
		}
		rotations := 0 // since the last look: logrotate removes none that is not read
		t.Repeat(map[string]func(*rapid.T){
			"write": line,
			"look":  func(t *rapid.T) { look(t); rotations = 0 },
			"rename": func(t *rapid.T) {
				if rotations+1 >= most {
					t.Skip("would remove what is not read")
				}
				rotations++
				shift()
				if err := os.Rename(path, name(1)); err != nil {
					t.Fatal(err)
				}
				write(t, path)
				size, seen = 0, 0
			},
			"copytruncate": func(t *rapid.T) {
				if size > 0 && seen == 0 {
					t.Skip("nothing shows that the file was not empty all the time")
				}
				shift()
				data, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(name(1), data, 0o600)
				}
				if err == nil {
					err = os.Truncate(path, 0)
				}
				if err != nil {
					t.Fatal(err)
				}
				size = 0
				look(t) // the directory is watched
				rotations = 0
			},
			"compress": func(t *rapid.T) {
				i := rapid.IntRange(rotations+1, most).Draw(t, "number")
				if os.Remove(name(i)) != nil {
					t.Skip("none")
				}
			},
		})
		look(t)
		if !slices.Equal(got, want) {
			t.Fatalf("got %q\nwant %q", got, want)
		}
	})
}
