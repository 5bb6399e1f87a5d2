package logs

import (
	"bytes"
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

	"golang.org/x/sys/unix"
)

// open opens a reader, which the test closes; problems fail the test.
func open(t *testing.T, path string, o Options) *Reader {
	t.Helper()
	if o.Problem == nil {
		o.Problem = func(err error) { t.Errorf("problem: %v", err) }
	}
	r, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestPartialLinesJoinPerStream(t *testing.T) {
	name := logFile(t, "stdout F one", "stdout P tw", "stderr F err", "stdout F o", "stderr P not ", "stdout F three", "stderr P ended")
	r := open(t, name, All)
	if got := read(t, r); !slices.Equal(got, []string{"one", "err", "two", "three"}) {
		t.Errorf("%q", got)
	}
	if l, ok := r.Flush(); !ok || string(l.Text) != "not ended" || l.Ends || !r.Done() {
		t.Errorf("the rest is %+v", l)
	}
}

func TestRotatedFilesOldestFirst(t *testing.T) {
	name := logFile(t)
	write(t, name+".20260101-000000", "stdout F one", "stdout P tw")
	write(t, name+".20260102-000000", "stdout F o", "stdout F three")
	write(t, name, "stdout F four")
	for _, other := range []string{".20260103-000000.gz.tmp", ".20260103-000000.tmp"} { // left over from a rotation
		if err := os.WriteFile(name+other, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(filepath.Dir(name), "10.log.20260102-000000"), "stdout F another attempt")
	if got := read(t, open(t, name, All)); !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("%q", got)
	}
	if got := read(t, open(t, name, Options{Tail: -1, OneFile: true})); !slices.Equal(got, []string{"four"}) {
		t.Errorf("one file: %q", got)
	}
}

func TestSinceAndStreamFilter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "0.log")
	var text strings.Builder
	for minute := range 6 {
		fmt.Fprintf(&text, "2026-01-02T15:0%d:00Z %s F %d\n", minute, Stream(minute%2), minute)
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	since := time.Date(2026, 1, 2, 15, 2, 0, 0, time.UTC)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Tail: -1, Since: since}, "2 3 4 5"},
		{Options{Tail: -1, Omit: [streams]bool{Stderr: true}}, "0 2 4"},
		{Options{Tail: 2, Omit: [streams]bool{Stdout: true}}, "3 5"},
		{Options{Tail: 2, Since: since.Add(3 * time.Minute)}, "5"},
		{Options{Tail: 0}, ""},
	} {
		if got := strings.Join(read(t, open(t, name, c.o)), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
	// A rotated file whose last write was before is not read.
	old := name + ".20260101-000000"
	if err := os.WriteFile(old, []byte("no log line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, since, since.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	r := open(t, name, Options{Tail: -1, Since: since.Add(3 * time.Minute)})
	if got := read(t, r); !slices.Equal(got, []string{"5"}) || r.Odd() != 0 {
		t.Errorf("%q, %d odd lines", got, r.Odd())
	}
}

// A runtime can be configured to write lines of any length, and writes others in
// parts.
func TestLongLinesInBoundedMemory(t *testing.T) {
	const size = 10 << 20
	for name, text := range map[string]string{
		"one record":   stamp + "stdout F " + strings.Repeat("x", size) + "\n",
		"many records": strings.Repeat(stamp+"stdout P "+strings.Repeat("x", 16<<10)+"\n", size>>14) + stamp + "stdout F \n",
	} {
		path := filepath.Join(t.TempDir(), "0.log")
		if err := os.WriteFile(path, []byte(text+stamp+"stdout F short\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{All, {Tail: 2}} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := open(t, path, o)
			pieces, bytes, begun, ended := 0, 0, 0, 0
			for {
				l, ok, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				pieces, bytes = pieces+1, bytes+len(l.Text)
				if l.Begins {
					begun++
				}
				if l.Ends {
					ended++
				}
				if len(l.Text) > 2*maxLine {
					t.Errorf("%s: a piece of %d bytes", name, len(l.Text))
				}
				runtime.ReadMemStats(&after)
				if held := int64(after.HeapInuse) - int64(before.HeapInuse); held > size/2 {
					t.Fatalf("%s: %d bytes held", name, held)
				}
			}
			if bytes != size+len("short") || begun != 2 || ended != 2 || pieces < 10 {
				t.Errorf("%s, tail %d: %d pieces of %d bytes, %d begun, %d ended", name, o.Tail, pieces, bytes, begun, ended)
			}
		}
	}
}

func TestInvalidLinesAreCounted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "0.log")
	text := stamp + "stdout F one\ngarbage\n\n\x00\x00\x00" + stamp + "stdout F two\n" + strings.Repeat("\xff", 3*scanBuffer) + "\n" + stamp + "stdout F three"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{All, {Tail: 3}, {Tail: 100}} {
		r := open(t, name, o)
		if got := read(t, r); !slices.Equal(got, []string{"one", "two", "three"}) || r.Odd() != 2 {
			t.Errorf("%q, %d odd lines", got, r.Odd())
		}
	}
}

// The path is the runtime's, and the directory may be mounted into a container.
func TestOpenRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	write(t, secret, "stdout F secret")
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		unix.Mkfifo(at("fifo"), 0o600), os.Symlink(secret, at("link")), os.Mkdir(at("dir"), 0o700),
		os.Symlink(secret, at("0.log.20260101-000000")), unix.Mkfifo(at("0.log.20260102-000000"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{at("fifo"), at("link"), at("dir"), "/dev/zero", at("link") + "/0.log", ""} {
		r, err := Open(path, All)
		if err == nil {
			t.Errorf("%s was opened: %q", path, read(t, r))
		}
	}
	write(t, at("0.log"), "stdout F mine")
	var problems []error
	got := read(t, open(t, at("0.log"), Options{Tail: -1, Problem: func(err error) { problems = append(problems, err) }}))
	if !slices.Equal(got, []string{"mine"}) || len(problems) != 2 {
		t.Errorf("%q, problems %v", got, problems)
	}
	if _, err := Open(at("none"), All); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestRemovedLogIsStillRead(t *testing.T) {
	name := logFile(t, "stdout F one")
	r := open(t, name, Options{Tail: -1, Follow: true})
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got := read(t, r); !slices.Equal(got, []string{"one"}) {
		t.Errorf("%q", got)
	}
}

func TestTruncatedLogIsReadFromStart(t *testing.T) {
	name := logFile(t, "stdout F one", "stdout F two")
	r := open(t, name, Options{Tail: 1, Follow: true})
	got := read(t, r)
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	got = append(got, read(t, r)...)
	write(t, name, "stdout F x")
	if got = append(got, read(t, r)...); !slices.Equal(got, []string{"two", "x"}) {
		t.Errorf("%q", got)
	}
}

// containerd creates the new file before it has written its last lines to the old one.
func TestRotatedFileIsReadUntilClosed(t *testing.T) {
	for _, closes := range []bool{true, false} {
		name := logFile(t, "stdout F one")
		old, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer old.Close()
		r := open(t, name, followed)
		if _, written := r.writers(); !written {
			t.Skip("the file system does not say which files are open for writing")
		}
		synctest.Test(t, func(t *testing.T) {
			got := read(t, r)
			if err := os.Rename(name, name+".20260101-000000"); err != nil {
				t.Fatal(err)
			}
			write(t, name, "stdout F new")
			got = append(got, read(t, r)...)
			fmt.Fprintf(old, "%sstdout F late\n", stamp)
			got = append(got, read(t, r)...)
			if !slices.Equal(got, []string{"one", "late"}) {
				t.Errorf("%q before the runtime has closed the file", got)
			}
			if closes {
				old.Close()
			} else {
				time.Sleep(flushTimeout)
			}
			if got := read(t, r); !slices.Equal(got, []string{"new"}) {
				t.Errorf("%q after it", got)
			}
		})
	}
}

// Between its renaming and the runtime's next write, only the rotated name exists.
func TestMissingLogReadsRotatedFile(t *testing.T) {
	name := logFile(t)
	rotated := name + ".20260101-000000"
	if err := os.Rename(name, rotated); err != nil {
		t.Fatal(err)
	}
	write(t, rotated, "stdout F one")
	r := open(t, name, Options{Tail: -1, Follow: true})
	got := read(t, r)
	write(t, rotated, "stdout F two")
	got = append(got, read(t, r)...)
	write(t, rotated, "stdout F three")
	write(t, name, "stdout F four")
	if got = append(got, read(t, r)...); !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("%q", got)
	}
}

func TestPartialLastLineIsCompletedLater(t *testing.T) {
	name := logFile(t, "stdout F one")
	r := open(t, name, Options{Tail: -1, Follow: true})
	got := read(t, r)
	for _, part := range []string{stamp[:7], stamp[7:] + "std", "out F tw", "o", "\n"} {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		f.Close()
		got = append(got, read(t, r)...)
	}
	if !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
}

func TestReadAllocations(t *testing.T) {
	name := filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(name, bytes.Repeat([]byte(stamp+"stdout F hello\n"), 20000), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(3, func() {
		r := open(t, name, All)
		for _, ok, _ := r.Next(); ok; _, ok, _ = r.Next() {
		}
	}); n > 200 {
		t.Errorf("%v allocations for 20000 lines", n)
	}
}

func BenchmarkReader(b *testing.B) {
	name := filepath.Join(b.TempDir(), "0.log")
	line := "2026-01-02T15:04:05.123456789Z stdout F " + strings.Repeat("x", 80) + "\n"
	data := bytes.Repeat([]byte(line), 100000)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := Open(name, All)
		if err != nil {
			b.Fatal(err)
		}
		for _, ok, _ := r.Next(); ok; _, ok, _ = r.Next() {
		}
		r.Close()
	}
}
