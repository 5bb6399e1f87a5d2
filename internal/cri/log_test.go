package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseLogLine(t *testing.T) {
	for _, c := range []struct {
		in, stream, text string
		partial          bool
	}{
		{"2026-01-02T15:04:05.123456789Z stdout F hello world", "stdout", "hello world", false},
		{"2026-01-02T15:04:05+02:00 stderr P half ", "stderr", "half ", true},
		{"2026-01-02T15:04:05Z stdout F ", "stdout", "", false},
		{"2026-01-02T15:04:05Z stdout P:more:tags x", "stdout", "x", true},
	} {
		l, err := ParseLogLine([]byte(c.in))
		if err != nil || l.Stream != c.stream || string(l.Text) != c.text || l.Partial != c.partial || l.Time.Year() != 2026 {
			t.Errorf("%q: %+v, %v", c.in, l, err)
		}
	}
	for _, in := range []string{"", "hello", "2026-01-02T15:04:05Z stdout F", "yesterday stdout F x", "2026-01-02T15:04:05Z stdin F x", "2026-01-02T15:04:05Z stdout Q x"} {
		if l, err := ParseLogLine([]byte(in)); err == nil {
			t.Errorf("%q: %+v, want an error", in, l)
		}
	}
}

const stamp = "2026-01-02T15:04:05.1Z "

func logFile(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "0.log")
	write(t, name, lines...)
	return name
}

// write appends lines such as "stdout F text".
func write(t *testing.T, name string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, l := range lines {
		if _, err := fmt.Fprintf(f, "%s%s\n", stamp, l); err != nil {
			t.Fatal(err)
		}
	}
}

func texts(lines []LogLine) []string {
	var s []string
	for _, l := range lines {
		s = append(s, string(l.Text))
	}
	return s
}

func TestTailLog(t *testing.T) {
	name := logFile(t, "stdout F one", "stdout P tw", "stderr F err", "stdout F o", "stdout F three")
	for n, want := range map[int][]string{
		0: nil,
		1: {"three"},
		2: {"two", "three"},
		4: {"one", "err", "two", "three"},
		9: {"one", "err", "two", "three"},
	} {
		lines, err := TailLog(name, n)
		if got := texts(lines); err != nil || !slices.Equal(got, want) {
			t.Errorf("last %d: %q, %v, want %q", n, got, err, want)
		}
	}
	if _, err := TailLog(name+".none", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestTailLogReadsFromTheEnd across block boundaries, as a reading from the
// beginning would.
func TestTailLogReadsFromTheEnd(t *testing.T) {
	var lines, want []string
	for i := range 5000 {
		text := strings.Repeat(fmt.Sprint(i), i%40)
		lines = append(lines, "stdout F "+text)
		want = append(want, text)
	}
	name := logFile(t, lines...)
	for _, n := range []int{1, 20, 300, 4999, 5000, 6000} {
		got, err := TailLog(name, n)
		if err != nil || !slices.Equal(texts(got), want[max(0, 5000-n):]) {
			t.Errorf("last %d: %d lines, %v", n, len(got), err)
		}
	}
}

// TestFollowLog: waits for the file, hands out lines as they end, goes over to
// the next file when it was rotated, starts again when it was truncated, and
// ends when it is told.
// followLog opens a log file and follows it.
func followLog(ctx context.Context, path string, ended <-chan struct{}, each func(LogLine) error) error {
	return OpenFollower(path).Follow(ctx, ended, each)
}

func TestFollowLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "0.log")
	synctest.Test(t, func(t *testing.T) {
		var got []string
		ended, result := make(chan struct{}), make(chan error)
		go func() {
			result <- followLog(t.Context(), name, ended, func(l LogLine) error {
				got = append(got, string(l.Text))
				return nil
			})
		}()
		step := func(want ...string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			got = nil
		}
		step()
		write(t, name, "stdout F one", "stdout P tw")
		step("one")
		write(t, name, "stdout F o")
		step("two")
		write(t, name, "stdout F last of the old")
		if err := os.Rename(name, name+".1"); err != nil {
			t.Fatal(err)
		}
		step("last of the old")
		write(t, name+".1", "stdout F really last")
		write(t, name, "stdout F first of the new")
		step("really last", "first of the new")
		if err := os.Truncate(name, 0); err != nil {
			t.Fatal(err)
		}
		step()
		write(t, name, "stdout F x", "stderr P open")
		step("x")
		write(t, name, "stdout F late")
		close(ended)
		if err := <-result; err != nil || !slices.Equal(got, []string{"late", "open"}) {
			t.Errorf("at the end: %q, %v", got, err)
		}
	})
}

// A runtime may report that a container has ended before it has written the
// last lines of its log.
func TestFollowLogWaitsUntilTheRuntimeHasWrittenAll(t *testing.T) {
	name := logFile(t, "stdout F one")
	runtime, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var got []string
		ended, result := make(chan struct{}), make(chan error)
		go func() {
			result <- followLog(t.Context(), name, ended, func(l LogLine) error {
				got = append(got, string(l.Text))
				return nil
			})
		}()
		close(ended)
		for _, text := range []string{"two", "three"} {
			time.Sleep(flushTimeout / 3)
			fmt.Fprintf(runtime, "%sstdout F %s\n", stamp, text)
		}
		runtime.Close()
		if err := <-result; err != nil || !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("printed %q, %v", got, err)
		}
	})
}

// A runtime that keeps the file open does not keep podctl from ending.
func TestFollowLogDoesNotWaitForEver(t *testing.T) {
	name := logFile(t, "stdout F one")
	runtime, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	synctest.Test(t, func(t *testing.T) {
		ended, begin := make(chan struct{}), time.Now()
		close(ended)
		if err := followLog(t.Context(), name, ended, func(LogLine) error { return nil }); err != nil || time.Since(begin) > flushTimeout+time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}

// A log file that is removed after it was opened is read all the same.
func TestFollowerReadsAFileThatWasRemoved(t *testing.T) {
	name := logFile(t, "stdout F one")
	f := OpenFollower(name)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	ended, got := make(chan struct{}), 0
	close(ended)
	if err := f.Follow(t.Context(), ended, func(LogLine) error { got++; return nil }); err != nil || got != 1 {
		t.Errorf("%d lines, %v", got, err)
	}
}

// TestFollowLogEnds with its context, with a reader that has had enough, and
// without a file.
func TestFollowLogEnds(t *testing.T) {
	name := logFile(t, "stdout F one")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := followLog(ctx, name, nil, func(LogLine) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("context: %v", err)
		}
		enough := errors.New("enough")
		if err := followLog(t.Context(), name, nil, func(LogLine) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("reader: %v", err)
		}
		ended := make(chan struct{})
		close(ended)
		if err := followLog(t.Context(), name+".none", ended, nil); err != nil {
			t.Errorf("no file: %v", err)
		}
	})
}

// FuzzParseLogLine: what it accepts can be written again.
func FuzzParseLogLine(f *testing.F) {
	f.Add([]byte(stamp + "stdout F hello"))
	f.Add([]byte(stamp + "stderr P:x "))
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := ParseLogLine(line)
		if err != nil {
			return
		}
		tag := map[bool]string{true: "P", false: "F"}[l.Partial]
		again, err := ParseLogLine(fmt.Appendf(nil, "%s %s %s %s", l.Time.Format(time.RFC3339Nano), l.Stream, tag, l.Text))
		if err != nil || !again.Time.Equal(l.Time) || again.Stream != l.Stream || again.Partial != l.Partial || string(again.Text) != string(l.Text) {
			t.Errorf("%q: %+v became %+v, %v", line, l, again, err)
		}
	})
}

// FuzzTailLog: the last lines are the end of all lines, whatever the file
// holds.
func FuzzTailLog(f *testing.F) {
	f.Add([]byte(stamp+"stdout F hello\n"), 1)
	f.Add([]byte(strings.Repeat(stamp+"stdout F hello\nnot a line\n", 900)), 3)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		n = max(0, min(n, 1000))
		name := filepath.Join(t.TempDir(), "0.log")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := TailLog(name, n)
		if err != nil {
			t.Fatal(err)
		}
		all := joinLines(data)
		if want := texts(all[max(0, len(all)-n):]); len(data) < tailBlock && !slices.Equal(texts(got), want) {
			t.Errorf("%q, want %q", texts(got), want)
		}
		if len(got) > n || len(got) < min(n, len(all)) {
			t.Errorf("%d lines, want %d of %d", len(got), n, len(all))
		}
	})
}

// A runtime can be configured to write lines of any length.
func TestLongLinesAreCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	const head = "2026-01-02T15:04:05Z stdout F "
	long := head + strings.Repeat("x", 4*maxRawLine)
	if err := os.WriteFile(path, []byte(long+"\n"+head+"short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &Follower{path: path, lines: joiner{}}
	var sizes []int
	f.each = func(l LogLine) error { sizes = append(sizes, len(l.Text)); return nil }
	if err := f.drain(); err != nil {
		t.Fatal(err)
	}
	f.close()
	if want := []int{maxRawLine - len(head), len("short")}; !slices.Equal(sizes, want) {
		t.Errorf("followed lines of %v bytes, want %v", sizes, want)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 8*maxMessageLog)+"\n"+head+"short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got, cut := messageFromLog(path); got != "short\n" || cut {
		t.Errorf("message %q", got)
	}
	if lines, err := TailLog(path, 1); err != nil || len(lines) != 1 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 8*maxMessageLog {
		t.Errorf("allocated %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
}

// That the runtime has closed the rotated file says nothing of its successor,
// which it still writes.
func TestFollowerReadsTheSuccessorOfACompleteFileToItsEnd(t *testing.T) {
	name := logFile(t, "stdout F one")
	f := OpenFollower(name)
	if _, known := hasWriters(f.file); !known {
		t.Skip("the file system does not know a file's writers")
	}
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	runtime, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	if _, err := runtime.WriteString(stamp + "stdout F two\n"); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	f.each = func(l LogLine) error {
		got = append(got, string(l.Text))
		if string(l.Text) == "two" { // the last line comes after the first pass
			time.AfterFunc(2*flushPeriod, func() {
				_, _ = runtime.WriteString(stamp + "stdout F three\n")
				_ = runtime.Close()
			})
		}
		return nil
	}
	if err := f.finish(t.Context()); err != nil || !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("%q, %v", got, err)
	}
}
