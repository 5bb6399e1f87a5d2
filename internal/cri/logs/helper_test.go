package logs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// failer is *testing.T or *rapid.T.
type failer interface {
	Helper()
	Fatal(args ...any)
}

const stamp = "2026-01-02T15:04:05.1Z "

func logFile(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "0.log")
	write(t, name, lines...)
	return name
}

// write appends lines such as "stdout F text".
func write(t failer, name string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var text bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&text, "%s%s\n", stamp, l)
	}
	if _, err := f.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// read returns the texts of the lines that a reader has now; pieces of one line
// are joined.
func read(t failer, r *Reader) []string {
	t.Helper()
	var got []string
	for {
		l, ok, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return got
		}
		if !l.Begins {
			got[len(got)-1] += string(l.Text)
			continue
		}
		got = append(got, string(l.Text))
	}
}
