package logs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// collected is a group whose lines are kept.
type collected struct {
	*Group
	got      []string
	problems []error
}

func collect(t *testing.T, o GroupOptions) *collected {
	c := &collected{}
	o.Each = func(of any, l Line) error {
		c.got = append(c.got, fmt.Sprint(of, string(l.Text)))
		return nil
	}
	o.Problem = func(_ any, err error) { c.problems = append(c.problems, err) }
	c.Group = NewGroup(o)
	t.Cleanup(c.Close)
	return c
}

func (c *collected) add(t *testing.T, name, path string, o Options) {
	t.Helper()
	if err := c.Add(path, name+":", path, o); err != nil {
		t.Fatal(err)
	}
}

// step waits, and compares what has been passed on since.
func (c *collected) step(t *testing.T, want ...string) {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	if !slices.Equal(c.got, want) {
		t.Errorf("got %q, want %q", c.got, want)
	}
	c.got = nil
}

var followed = Options{Tail: -1, Follow: true}

// at writes lines with a time, in milliseconds from now.
func at(t *testing.T, name string, ms int, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s stdout F %s\n", time.Now().Add(time.Duration(ms)*time.Millisecond).Format(time.RFC3339Nano), text)
}

func TestMergeByTime(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	for n, name := range []string{a, b, b, c, a, b, a, a, c} {
		at(t, name, n*10-1000, fmt.Sprint(n))
	}
	for _, o := range []Options{All, followed} {
		g := collect(t, GroupOptions{})
		for _, name := range []string{c, b, a} {
			g.add(t, filepath.Base(name), name, o)
			g.End(name)
		}
		g.Seal()
		if err := g.Run(t.Context()); err != nil || !slices.Equal(g.got, []string{"a:0", "b:1", "b:2", "c:3", "a:4", "b:5", "a:6", "a:7", "c:8"}) {
			t.Errorf("%q, %v", g.got, err)
		}
	}
}

func TestFollowMergesWithinWindow(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := collect(t, GroupOptions{})
		g.add(t, "a", a, followed)
		g.add(t, "b", b, followed)
		ran := make(chan error)
		go func() { ran <- g.Run(ctx) }()
		g.step(t)
		at(t, b, 2, "second")
		at(t, a, 0, "first")
		g.step(t, "a:first", "b:second")
		at(t, a, 3600_000, "the clock was set back since") // not held for an hour
		g.step(t, "a:the clock was set back since")
		at(t, b, 0, "next")
		g.step(t, "b:next")
		cancel()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// A log is waited for; the next file follows one that was renamed; one that was
// truncated is read from its beginning; at its end, the rest is passed on.
func TestFollowUntilEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "0.log")
	synctest.Test(t, func(t *testing.T) {
		g := collect(t, GroupOptions{})
		g.add(t, "", name, followed)
		ran := make(chan error)
		go func() { ran <- g.Run(t.Context()) }()
		g.step(t)
		write(t, name, "stdout F one", "stdout P tw")
		g.step(t, ":one")
		write(t, name, "stdout F o")
		g.step(t, ":two")
		write(t, name, "stdout F last of the old")
		if err := os.Rename(name, name+".20260101-000000"); err != nil {
			t.Fatal(err)
		}
		g.step(t, ":last of the old")
		write(t, name+".20260101-000000", "stdout F really last")
		write(t, name, "stdout F first of the new")
		g.step(t, ":really last", ":first of the new")
		if err := os.Truncate(name, 0); err != nil {
			t.Fatal(err)
		}
		g.step(t)
		write(t, name, "stdout F x", "stderr P open")
		g.step(t, ":x")
		write(t, name, "stdout F late")
		g.End(name)
		g.Seal()
		if err := <-ran; err != nil || !slices.Equal(g.got, []string{":late", ":open"}) {
			t.Errorf("at the end: %q, %v", g.got, err)
		}
	})
}

// A prompt has no line end.
func TestPartialLineIsFlushedAfterDelay(t *testing.T) {
	name := logFile(t, "stdout P pass")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := collect(t, GroupOptions{Pieces: 300 * time.Millisecond})
		g.add(t, "", name, followed)
		ran := make(chan error)
		go func() { ran <- g.Run(ctx) }()
		g.step(t, ":pass")
		write(t, name, "stdout F word")
		g.step(t, ":word")
		cancel()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v, not with its context's error", err)
		}
	})
}

// A runtime may report that a container has ended before it has written the
// last lines of its log.
func TestEndWaitsForRuntimeToFinish(t *testing.T) {
	name := logFile(t, "stdout F one")
	runtime, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := collect(t, GroupOptions{})
		g.add(t, "", name, followed)
		ran := make(chan error)
		go func() { ran <- g.Run(t.Context()) }()
		g.End(name)
		g.Seal()
		for _, text := range []string{"two", "three"} {
			time.Sleep(flushTimeout / 3)
			fmt.Fprintf(runtime, "%sstdout F %s\n", stamp, text)
		}
		runtime.Close()
		if err := <-ran; err != nil || !slices.Equal(g.got, []string{":one", ":two", ":three"}) {
			t.Errorf("%q, %v", g.got, err)
		}
	})
}

// A runtime that keeps the file open does not keep podctl from ending.
func TestEndWaitIsBounded(t *testing.T) {
	name := logFile(t, "stdout F one")
	runtime, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		g := collect(t, GroupOptions{})
		g.add(t, "", name, followed)
		g.add(t, "", name+".none", followed)
		g.End(name)
		g.End(name + ".none")
		g.Seal()
		if err := g.Run(t.Context()); err != nil || time.Since(begin) > flushTimeout+time.Second || len(g.got) != 1 {
			t.Errorf("%q, %v after %s", g.got, err, time.Since(begin))
		}
	})
}

// That the runtime has closed the rotated file says nothing of its successor,
// which it still writes.
func TestSuccessorOfCompleteFile(t *testing.T) {
	name := logFile(t, "stdout F one")
	synctest.Test(t, func(t *testing.T) {
		g := collect(t, GroupOptions{})
		g.add(t, "", name, followed)
		if err := os.Rename(name, name+".20260101-000000"); err != nil {
			t.Fatal(err)
		}
		runtime, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(runtime, stamp, "stdout F two\n")
		time.AfterFunc(3*flushPeriod, func() {
			fmt.Fprint(runtime, stamp, "stdout F three\n")
			_ = runtime.Close()
		})
		g.End(name)
		g.Seal()
		if err := g.Run(t.Context()); err != nil || !slices.Equal(g.got, []string{":one", ":two", ":three"}) {
			t.Errorf("%q, %v", g.got, err)
		}
	})
}

func TestRunReturnsReaderError(t *testing.T) {
	enough := errors.New("enough")
	g := NewGroup(GroupOptions{Each: func(any, Line) error { return enough }})
	defer g.Close()
	if err := g.Add("", nil, logFile(t, "stdout F one"), followed); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(t.Context()); !errors.Is(err, enough) {
		t.Error(err)
	}
}

// A log whose files cannot be opened for a while, at first or when it is rotated, is
// read completely, each line once; one that still cannot be at its end is a problem.
func TestFollowRetriesOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		name := filepath.Join(dir, "0.log")
		block := func() { // a link is not opened
			if err := os.Symlink("elsewhere", name); err != nil {
				t.Fatal(err)
			}
		}
		unblock := func() {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		block()
		g := collect(t, GroupOptions{Retry: true})
		g.add(t, "", name, followed)
		go func() { _ = g.Run(t.Context()) }()
		g.step(t)
		unblock()
		write(t, name, "stdout F one")
		g.step(t, ":one")
		write(t, name, "stdout F two")
		if err := os.Rename(name, name+".20260102-150405"); err != nil {
			t.Fatal(err)
		}
		block()
		g.step(t, ":two")
		unblock()
		write(t, name, "stdout F three")
		g.step(t, ":three")
		if len(g.problems) > 0 {
			t.Errorf("problems %v", g.problems)
		}
		if err := os.Rename(name, name+".20260102-150406"); err != nil {
			t.Fatal(err)
		}
		block()
		g.End(name)
		g.step(t)
		if len(g.problems) > 0 {
			t.Errorf("problems %v while its file may still come", g.problems)
		}
		g.Seal()
		g.step(t)
		if len(g.problems) != 1 {
			t.Errorf("problems %v, want one", g.problems)
		}
	})
}
