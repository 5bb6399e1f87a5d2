package journal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/pod/event"
)

var began = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func clock() time.Time { return began }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// happened is an event of a time in seconds.
func happened(n int, message string) event.Event {
	return event.Event{Time: began.Add(time.Duration(n) * time.Second), Namespace: "default", Name: "web", Reason: "Tested", Message: message}
}

// texts reads the entries that are new.
func texts(t interface {
	Helper()
	Fatal(...any)
}, r *Reader) []string {
	t.Helper()
	entries, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Text())
	}
	return all
}

func put(dir, instance string, events ...event.Event) {
	w := NewWriter(dir, instance, clock, quiet())
	for _, ev := range events {
		w.Write(ev)
	}
	_ = w.Close()
}

func TestEntriesOutliveWriter(t *testing.T) {
	dir := Dir(t.TempDir())
	put(dir, "agent", happened(2, "two"), event.Event{Time: began, Reason: event.Exited, Container: "c", Exit: &event.Exit{Code: 3}})
	put(dir, "run-1", happened(1, "one"))
	r := NewReader(dir)
	defer r.Close()
	entries, err := r.Next()
	if err != nil || len(entries) != 3 {
		t.Fatalf("%+v, %v", entries, err)
	}
	if e := entries[0]; e.Instance != "agent" || e.Exit == nil || e.Text() != "c exited 3" {
		t.Errorf("%+v", e)
	}
	if entries[1].Instance != "run-1" || entries[2].Text() != "two" {
		t.Errorf("%+v", entries)
	}
	put(dir, "run-2", happened(3, "three"))
	if got := texts(t, r); !slices.Equal(got, []string{"three"}) {
		t.Errorf("then %q", got)
	}
	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, currentName: 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%q has mode %v, %v", name, info.Mode(), err)
		}
	}
}

func TestTruncatedLineIsSkipped(t *testing.T) {
	dir := Dir(t.TempDir())
	put(dir, "agent", happened(1, "one"))
	path := filepath.Join(dir, currentName)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "garbage\n{}\n", strings.Repeat("x", 2*maxLine), "\n", `{"time":"2026-01-02T15:04:05Z","rea`)
	f.Close()
	r := NewReader(dir)
	defer r.Close()
	if got := texts(t, r); !slices.Equal(got, []string{"one"}) {
		t.Errorf("%q", got)
	}
	put(dir, "agent", happened(2, "two"))
	if got := texts(t, r); !slices.Equal(got, []string{"two"}) {
		t.Errorf("after the next entry: %q", got)
	}
}

// However many processes write, no entry is lost or read twice but by rotation,
// and the size is bounded.
func TestRotationBetweenProcesses(t *testing.T) {
	dir := Dir(t.TempDir())
	const writers, each, max = 4, 100, 4000
	var running sync.WaitGroup
	r := NewReader(dir)
	defer r.Close()
	var got []string
	for n := range writers {
		running.Go(func() {
			w := NewWriter(dir, fmt.Sprint(n), clock, quiet())
			w.max = max
			for i := range each {
				w.Write(happened(i, fmt.Sprint(n, "-", i)))
			}
			_ = w.Close()
		})
	}
	running.Wait()
	got = append(got, texts(t, r)...)
	if len(got) == 0 || len(got) > writers*each {
		t.Errorf("%d entries", len(got))
	}
	seen := map[string]bool{}
	for _, text := range got {
		if seen[text] {
			t.Errorf("%s twice", text)
		}
		seen[text] = true
	}
	for _, name := range []string{currentName, rotatedName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && info.Size() > max+each*200 {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
}

// A reader that looks often enough sees each entry once, wherever the file is
// rotated.
func TestReadAcrossRotations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "journal")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		w := &Writer{dir: dir, now: clock, max: int64(rapid.IntRange(100, 1000).Draw(t, "max"))}
		r := NewReader(dir)
		defer r.Close()
		var want, got []string
		for n := range rapid.IntRange(0, 30).Draw(t, "entries") {
			text := fmt.Sprint(n)
			if err := w.write([]Entry{{Event: happened(n, text)}}, 0); err != nil {
				t.Fatal(err)
			}
			want = append(want, text)
			if rapid.Bool().Draw(t, "look") || n%2 == 1 && w.max < 500 {
				got = append(got, texts(t, r)...)
			}
			if w.max < 500 {
				got = append(got, texts(t, r)...)
			}
		}
		got = append(got, texts(t, r)...)
		if w.max >= 500 && len(want) > 4 { // some may be gone
			return
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// A disk that is full or cannot be written never blocks, and what is lost is counted.
func TestWriteFailuresAreCounted(t *testing.T) {
	root := t.TempDir()
	dir := Dir(root)
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in the directory's place
		t.Fatal(err)
	}
	w := NewWriter(dir, "agent", clock, quiet())
	for n := range 3 * queueSize {
		w.Write(happened(n, "lost"))
	}
	for { // until every batch has failed
		w.mu.Lock()
		lost := w.dropped
		w.mu.Unlock()
		if lost == 3*queueSize {
			break
		}
		w.signal()
	}
	if err := os.Remove(dir); err != nil { // the writer may make the directory at once
		t.Fatal(err)
	}
	w.Write(happened(9, "kept"))
	_ = w.Close()
	r := NewReader(dir)
	defer r.Close()
	entries, err := r.Next()
	if err != nil || len(entries) != 2 || entries[0].Reason != event.EventsDropped || entries[0].Count != 3*queueSize || entries[1].Text() != "kept" {
		t.Errorf("%+v, %v", entries, err)
	}
}

func TestRegularFilesOnly(t *testing.T) {
	root := t.TempDir()
	dir, secret := Dir(root), filepath.Join(root, "secret")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(secret, filepath.Join(dir, currentName))); err != nil {
		t.Fatal(err)
	}
	put(dir, "agent", happened(1, "one"))
	if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
	r := NewReader(dir)
	defer r.Close()
	if entries, err := r.Next(); err == nil {
		t.Errorf("read %v", entries)
	}
}

func TestLongFactsAreCut(t *testing.T) {
	for name, long := range map[string]string{"plain": strings.Repeat("x", 64<<10), "escaped": strings.Repeat("\x01", 64<<10)} {
		t.Run(name, func(t *testing.T) {
			dir := Dir(t.TempDir())
			ev := happened(1, long)
			ev.Exit, ev.Waiting, ev.Probe = &event.Exit{Message: long}, &event.ContainerWait{Message: long}, &event.Probe{Output: long}
			ev.Failure, ev.End = &event.Failure{Text: long}, &event.End{Message: long}
			put(dir, "agent", ev)
			r := NewReader(dir)
			defer r.Close()
			entries, err := r.Next()
			if err != nil || len(entries) != 1 || entries[0].Reason != "Tested" {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
			e := entries[0]
			for _, text := range []string{e.Message, e.Exit.Message, e.Waiting.Message, e.Probe.Output, e.Failure.Text, e.End.Message} {
				if len(text) > maxText+3 || !strings.HasSuffix(text, "…") {
					t.Errorf("a text of %d bytes", len(text))
				}
			}
			if ev.Failure.Text != long {
				t.Error("the event itself was cut")
			}
		})
	}
}

// What is no line, because it is too long without its texts, is counted.
func TestUnrecordableEventIsCounted(t *testing.T) {
	dir := Dir(t.TempDir())
	ev := happened(1, "one")
	ev.Victims = make([]string, maxLine)
	put(dir, "agent", ev, happened(2, "two"))
	r := NewReader(dir)
	defer r.Close()
	dropped := 0
	entries, err := r.Next()
	for _, e := range entries {
		dropped += e.Count
	}
	if err != nil || len(entries) != 2 || dropped != 1 {
		t.Errorf("%d of %d entries, %v", dropped, len(entries), err)
	}
}

func TestRepeatedEventsAreCounted(t *testing.T) {
	entry := func(n int, name, message string) Entry {
		e := happened(n, message)
		e.Name = name
		return Entry{Event: e}
	}
	got := GroupBySeries([]Entry{entry(1, "a", "x"), entry(2, "b", "x"), entry(3, "a", "x"), entry(4, "a", "y"), entry(5, "b", "x")})
	var text []string
	for _, s := range got {
		text = append(text, fmt.Sprintf("%s %s x%d %s..%s", s.Name, s.Text(), s.Count, s.First.Format("05"), s.Time.Format("05")))
	}
	if want := []string{"a x x2 06..08", "a y x1 09..09", "b x x2 07..10"}; !slices.Equal(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
}

// FuzzParse: nothing that a file holds is more than its entries.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-02T15:04:05Z","reason":"Started"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range parse(data) {
			if line := e.line(); line != nil && len(parse(line)) != 1 {
				t.Errorf("%q is not read again", line)
			}
		}
	})
}
