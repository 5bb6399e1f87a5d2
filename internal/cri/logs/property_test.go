package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// genLines are lines of a log file: stream, tag, text.
func genLines(t *rapid.T, label string) []string {
	n := rapid.IntRange(0, 12).Draw(t, label)
	var lines []string
	for i := range n {
		stream := rapid.SampledFrom([]string{"stdout", "stdout", "stderr"}).Draw(t, "stream")
		tag := rapid.SampledFrom([]string{"F", "F", "P"}).Draw(t, "tag")
		pad := rapid.SampledFrom([]int{0, 0, 3, 100, 70000}).Draw(t, "pad")
		lines = append(lines, fmt.Sprintf("%s %s %s%d%s;", stream, tag, label, i, strings.Repeat("x", pad)))
	}
	return lines
}

// naive joins all lines in memory; those that have not ended are left out.
func naive(lines []string, stream string) []string {
	open, got := map[string]string{}, []string(nil)
	for _, l := range lines {
		parts := strings.SplitN(l, " ", 3)
		if stream != "" && parts[0] != stream {
			continue
		}
		if open[parts[0]] += parts[2]; parts[1] == "F" {
			got = append(got, open[parts[0]])
			open[parts[0]] = ""
		}
	}
	return got
}

// ended adds an end to each line that has none, so that all lines are compared.
func ended(lines []string) []string {
	return append(lines, "stdout F end", "stderr F end")
}

// The last lines are the end of all lines, however they are cut into records and
// files.
func TestTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "logs")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "0.log")
		var all []string
		files := rapid.IntRange(0, 3).Draw(t, "files")
		for n := range files + 1 {
			lines := genLines(t, string(rune('a'+n)))
			name := fmt.Sprintf("%s.2026010%d-000000", path, n)
			if n == files {
				name, lines = path, ended(lines)
			}
			write(t, name, lines...)
			all = append(all, lines...)
		}
		stream := rapid.SampledFrom([]string{"", "stdout", "stderr"}).Draw(t, "of stream")
		want := naive(all, stream)
		n := rapid.IntRange(0, len(want)+1).Draw(t, "tail")
		r, err := Open(path, Options{Tail: int64(n), Omit: [streams]bool{stream == "stderr", stream == "stdout"}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got := read(t, r); !slices.Equal(got, want[max(0, len(want)-n):]) {
			t.Fatalf("last %d:\n%s\nwant\n%s", n, short(got), short(want[max(0, len(want)-n):]))
		}
	})
}

func short(lines []string) string {
	var text strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&text, "%d bytes %.60s\n", len(l), l)
	}
	return text.String()
}

// Following returns each line once and in order, wherever the log is rotated,
// compressed once it was read, or not looked at for several rotations.
func TestFollowAcrossRotations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "logs")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "0.log")
		n, rotations := 0, 0
		var want, got, plain []string
		runtime := path // what the runtime has open
		line := func(t *rapid.T) {
			n++
			text := fmt.Sprintf("stdout F line-%d", n)
			f, err := os.OpenFile(runtime, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(f, "2026-01-02T15:04:05.%09dZ %s\n", n, text)
			f.Close()
			want = append(want, fmt.Sprintf("line-%d", n))
		}
		r, err := Open(path, Options{Tail: -1, Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		seen := 0 // how many of plain were read
		look := func(t *rapid.T) {
			got = append(got, read(t, r)...)
			seen = len(plain)
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": line,
			"look":  look,
			"rename": func(t *rapid.T) {
				if _, err := os.Stat(path); err != nil || runtime != path {
					t.Skip("no log")
				}
				rotations++
				runtime = fmt.Sprintf("%s.20260101-%06d", path, rotations)
				if err := os.Rename(path, runtime); err != nil {
					t.Fatal(err)
				}
			},
			"reopen": func(t *rapid.T) {
				if runtime == path {
					t.Skip("is open")
				}
				plain, runtime = append(plain, runtime), path
				write(t, path)
			},
			"compress": func(t *rapid.T) {
				if seen == 0 {
					t.Skip("nothing to compress")
				}
				if err := os.Remove(plain[0]); err != nil {
					t.Fatal(err)
				}
				plain, seen = plain[1:], seen-1
			},
		})
		look(t)
		if !slices.Equal(got, want) {
			t.Fatalf("got %q\nwant %q", got, want)
		}
	})
}
