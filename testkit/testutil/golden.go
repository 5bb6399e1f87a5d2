package testutil

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Golden compares got with the content of a file, and fails the test at the
// first line that differs. With update it writes the file.
func Golden(t testing.TB, update bool, file, got string) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			t.Fatalf("%s:%d differs (-update rewrites it)\nwant %q\ngot  %q", file, i+1, lineOf(w, i), lineOf(g, i))
		}
	}
}

func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end of file)"
}

// Transcripts plays each file of testdata/*.txt but the one named except, and
// compares it with what play makes of its commands. A transcript opens with the
// rule that it shows.
func Transcripts(t *testing.T, update bool, except string, play func(t *testing.T, text string) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		if filepath.Base(file) == except {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(data), "# ") {
				t.Error("it must open with the rule that it shows, after \"# \"")
			}
			Golden(t, update, file, play(t, string(data)))
		})
	}
}
